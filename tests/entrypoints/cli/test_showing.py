"""list and show: what there is, how it stands, and its report; nothing is cut and nothing steers the terminal."""

from __future__ import annotations

import asyncio
import os
from typing import LiteralString

import psycopg
import pytest

from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.showing import terminal_markdown
from inquest.runtime.clock import RandomIds
from tests.entrypoints.cli.running import Cli
from tests.postgres import Database, NewDatabase
from tests.store.door import Door, arrival, firing, intake

NOBODYS = "f" * 32


class Posts:
    """The intake of the database that the commands run on."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def open(self, service: str, workspace: str = "default") -> str:
        """Take an alert in, and give the investigation that it opens."""
        return asyncio.run(self._open(service, workspace))

    async def _open(self, service: str, workspace: str) -> str:
        door = Door(self.database.url, self.database.conninfo)
        try:
            accepted = await door.take(
                arrival(firing(service=service), into=intake(workspace=workspace)), receipt_id=RandomIds().new()
            )
        finally:
            await door.aclose()
        return accepted.investigations[0].investigation_id

    def change(self, statement: LiteralString, *values: str) -> None:
        with psycopg.connect(self.database.conninfo, autocommit=True) as connection:
            connection.execute(statement, values)


@pytest.fixture
def posts(database: NewDatabase, cli: Cli) -> Posts:
    made = database()
    cli.use(made)
    return Posts(made)


# ---- list


def test_nothing_to_list_is_said_and_is_an_empty_array(cli: Cli, posts: Posts) -> None:
    plain, named, as_json = cli.run("list"), cli.run("list", "--workspace", "prod"), cli.run("list", "--json")

    assert (plain.code, plain.out) == (0, "no investigations\n")
    assert named.out == "no investigations in workspace prod\n"
    assert (as_json.code, as_json.json) == (0, {"investigations": [], "next": None})


def test_the_newest_come_first_and_as_many_as_asked(cli: Cli, posts: Posts) -> None:
    ids = [posts.open(f"s{number}") for number in range(3)]

    listed = cli.run("list", "--limit", "2")
    as_json = cli.run("list", "--json")

    head, *rows, _ = listed.out.splitlines()
    assert head.split() == ["opened", "(UTC)", "id", "status", "verdict", "service", "alert"]
    assert [row.split()[2:] for row in rows] == [
        [ids[2], "queued", "-", "s2", "HighLatency"],
        [ids[1], "queued", "-", "s1", "HighLatency"],
    ]
    assert [one["id"] for one in as_json.json["investigations"]] == ids[::-1]


def test_the_only_workspace_needs_no_name_and_several_do(cli: Cli, posts: Posts) -> None:
    found = posts.open("s", workspace="prod")
    assert [one["id"] for one in cli.run("list", "--json").json["investigations"]] == [found]
    posts.open("s", workspace="test")

    unnamed = cli.run("list")

    assert (unnamed.code, unnamed.err) == (Exit.USAGE, "--workspace: name one of prod, test\n")
    assert [one["id"] for one in cli.run("list", "--workspace", "prod", "--json").json["investigations"]] == [found]


def test_a_name_in_a_list_is_one_cell_of_one_line(cli: Cli, posts: Posts) -> None:
    posts.open("\x1b[2Jevil\r\nsecond line")

    listed = cli.run("list").out

    assert len(listed.splitlines()) == 2
    assert "\x1b" not in listed


def test_reading_needs_no_key(cli: Cli, posts: Posts, monkeypatch: pytest.MonkeyPatch) -> None:
    found = posts.open("s")
    monkeypatch.delenv("INQUEST_KEY_FILE")

    assert [cli.run(*command).code for command in (["list"], ["show", found])] == [0, 0]


# ---- show


def test_one_that_waits_is_said_to(cli: Cli, posts: Posts) -> None:
    found = posts.open("s")
    posts.change("update inquest.investigation set status = 'deferred', defer_reason = 'max_new_per_hour'")

    plain, as_json = cli.run("show", found), cli.run("show", found, "--json")

    assert (plain.code, plain.out) == (0, f"{found} is deferred: max_new_per_hour\n")
    assert (as_json.json["id"], as_json.json["status"]) == (found, "deferred")


def test_one_that_is_nowhere_is_not_found(cli: Cli, posts: Posts) -> None:
    for command in ("show", "replay"):
        ran = cli.run(command, NOBODYS)

        assert (ran.code, ran.err) == (Exit.FAILED, f"not found: investigation {NOBODYS}\n")


def test_an_ended_one_is_shown_with_its_report_and_its_exit_code(after_it: Cli) -> None:
    found = after_it.id
    shown, followed, as_json = (after_it.run("show", found, *options) for options in ((), ("--follow",), ("--json",)))

    assert shown.code == followed.code == as_json.code == Exit.ANSWERED
    assert shown.out.startswith("# ")
    assert followed.out.endswith(shown.out)
    assert followed.words[0] == "started"
    assert (as_json.json["id"], as_json.json["degraded"]) == (found, False)


@pytest.mark.parametrize(
    ("status", "verdict", "code"), [("succeeded", "inconclusive", 1), ("failed", "", 2), ("cancelled", "", 5)]
)
def test_show_exits_as_the_investigation_did(after_it: Cli, status: str, verdict: str, code: int) -> None:
    found = after_it.id
    _change("update inquest.investigation set status = %s, verdict = %s", status, verdict)

    assert after_it.run("show", found, "--json").code == code


def _change(statement: LiteralString, *values: str) -> None:
    with psycopg.connect(os.environ["INQUEST_DATABASE_URL"].replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(statement, values)


def test_a_report_keeps_its_shape_and_loses_what_steers_a_terminal() -> None:
    raw = "# Title\n\n```\n    indented  twice\n\x1b[31mred\x07\u202e\n```\n- a\n  - b"

    shown = terminal_markdown(raw.encode())

    assert "    indented  twice" in shown.splitlines()
    assert "  - b" in shown.splitlines()
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
