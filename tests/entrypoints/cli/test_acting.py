"""cancel, rerun, delete and the filters of list: the same at the database and through a running service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from inquest.domain.diagnosis import Verdict
from inquest.domain.investigation import Status
from inquest.entrypoints.cli import list_command
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.http.filters import Severity
from inquest.store.database import Database
from tests.entrypoints.cli.running import Cli, Ran
from tests.entrypoints.cli.test_showing import NOBODYS, Posts, posts
from tests.entrypoints.http.service import TOKEN, one_workspace, serving
from tests.postgres import NewDatabase


@dataclass
class Installation:
    """A command line, and the intake of what it works on. Both have event loops of their own, in threads."""

    cli: Cli
    posts: Posts

    async def run(self, *arguments: str) -> Ran:
        return await asyncio.to_thread(self.cli.run, *arguments)

    async def open(self, service: str = "s") -> str:
        return await asyncio.to_thread(self.posts.open, service)

    async def ended(self, service: str = "s", status: str = "succeeded") -> str:
        found = await self.open(service)
        self.posts.change(
            "update inquest.investigation set status = %s, ended_at = now() where investigation_id = %s", status, found
        )
        return found

    async def names(self, *options: str) -> list[str]:
        return [one["service"] for one in (await self.run("list", "--json", *options)).json["investigations"]]


@pytest.fixture(params=["at the database", "at the service"])
async def here(
    request: pytest.FixtureRequest, cli: Cli, database: NewDatabase, tmp_path: Path
) -> AsyncIterator[Installation]:
    """Give an installation that is reached in each of the two ways."""
    made = database()
    if request.param == "at the database":
        cli.use(made)
        yield Installation(cli, Posts(made))
        return
    store = Database(made.url)
    async with serving(store, one_workspace(tmp_path)) as running:
        cli.set(URL=f"http://127.0.0.1:{running.port}", OPERATOR_TOKEN=TOKEN)
        yield Installation(cli, Posts(made))
    await store.aclose()


__all__ = ["posts"]  # a fixture


# ---- cancel


async def test_a_cancel_ends_it_and_again_changes_nothing(here: Installation) -> None:
    found = await here.open("s")

    first, again = await here.run("cancel", found), await here.run("cancel", found, "--json")

    assert (first.code, first.out) == (0, f"{found} is cancelled\n")
    assert (again.code, again.json["id"], again.json["status"]) == (0, found, "cancelled")


async def test_what_has_ended_is_not_cancelled_and_it_is_said_why(here: Installation) -> None:
    found = await here.ended()

    ran = await here.run("cancel", found)

    assert (ran.code, ran.err) == (Exit.FAILED, "it has already succeeded\n")


@pytest.mark.parametrize("command", [("cancel",), ("rerun",), ("delete", "--yes")])
async def test_one_that_is_not_there_and_one_that_can_be_none_are_told_apart(
    here: Installation, command: tuple[str, ...]
) -> None:
    nobodys, none = await here.run(*command, NOBODYS), await here.run(*command, "x")

    assert nobodys.code == Exit.FAILED
    assert nobodys.err.startswith("not found: ")
    assert (none.code, none.err.split(":")[0]) == (Exit.USAGE, "'x' is no investigation's id, which has 32 hex digits")


# ---- rerun


async def test_a_re_run_says_the_new_id_and_under_one_key_it_is_one(here: Installation) -> None:
    found = await here.ended()

    first = await here.run("rerun", found, "--key", "k")
    again = await here.run("rerun", found, "--key", "k", "--json")

    assert (first.code, first.out) == (0, f"{again.json['id']} is queued: it repeats {found}\n")
    assert again.json["parent_id"] == found


async def test_what_goes_on_is_not_run_again(here: Installation) -> None:
    found = await here.open("s")

    ran = await here.run("rerun", found)

    assert (ran.code, ran.err) == (Exit.FAILED, "it is queued: a re-run begins when it has ended\n")


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201])
def test_a_key_that_can_be_none_is_wrong_usage(cli: Cli, key: str) -> None:
    ran = cli.run("rerun", NOBODYS, "--key", key)

    assert (ran.code, ran.err) == (Exit.USAGE, "--key: 1 to 200 visible ASCII characters\n")


# ---- delete


async def test_a_delete_names_what_stays(here: Installation) -> None:
    found = await here.ended()
    here.posts.change(
        "insert into inquest.delivery_target (target_id, investigation_id, workspace, destination, reference)"
        " values ('t', %s, 'default', 'slack#thread', E'C1/\x1b[2J1')",
        found,
    )
    here.posts.change(
        "insert into inquest.delivery (target_id, revision, kind, state, reference)"
        " values ('t', 1, 'report', 'sent', E'C1/\x1b[2J1')"
    )

    ran = await here.run("delete", found, "--yes")

    assert (ran.code, ran.out.splitlines()[0]) == (0, f"{found} is deleted")
    assert ran.out.splitlines()[1].startswith("stays: slack#thread C1/")
    assert ran.out.splitlines()[2] == "what was delivered stays where it was sent: take it away there"
    assert "\x1b" not in ran.out
    assert (await here.run("list", "--json")).json["investigations"] == []
    again = await here.run("delete", found, "--yes")
    assert again.code == Exit.FAILED
    assert "was deleted" in again.err


async def test_what_goes_on_is_cancelled_first(here: Installation) -> None:
    found = await here.open("s")

    ran = await here.run("delete", found, "--yes")

    assert (ran.code, ran.err) == (Exit.FAILED, "it is queued: cancel it first\n")


def test_where_nobody_can_be_asked_it_wants_a_yes(cli: Cli) -> None:
    ran = cli.run("delete", NOBODYS)

    assert (ran.code, ran.err.split(":")[0]) == (Exit.USAGE, "--yes")


# ---- list


async def test_filters_restrict(here: Installation) -> None:
    for number, status in enumerate(("succeeded", "failed")):
        await here.ended(f"s{number}", status)
    await here.open("s2")
    here.posts.change("update inquest.investigation set verdict = 'healthy', severity_rank = 4 where service = 's0'")
    here.posts.change("update inquest.investigation set created_at = now() - interval '3 hours' where service = 's1'")
    cases: dict[tuple[str, ...], list[str]] = {
        ("--status", "failed"): ["s1"],
        ("--status", "failed", "--status", "queued"): ["s2", "s1"],
        ("--severity", "critical"): ["s0"],
        ("--verdict", "healthy"): ["s0"],
        ("--service", "s2"): ["s2"],
        ("--alert", "HighLatency"): ["s2", "s0", "s1"],
        ("--alert", "Nobody"): [],
        ("--since", "2h ago"): ["s2", "s0"],
        ("--until", "2h ago"): ["s1"],
        ("--since", "4h ago", "--until", "2h ago", "--status", "failed", "--workspace", "default"): ["s1"],
    }
    assert {options: await here.names(*options) for options in cases} == cases
    assert (await here.run("list", "--alert", "Nobody")).out == "no such investigations\n"


async def test_pages_hold_every_row_once(here: Installation) -> None:
    for number in range(5):
        await here.open(f"s{number}")

    seen: list[str] = []
    more: tuple[str, ...] = ()
    while True:
        page = (await here.run("list", "--json", "--limit", "2", *more)).json
        seen += [one["service"] for one in page["investigations"]]
        if page["next"] is None:
            break
        more = ("--cursor", page["next"])

    assert seen == ["s4", "s3", "s2", "s1", "s0"]
    last = (await here.run("list", "--limit", "2")).out.splitlines()[-1]
    assert last.startswith("more: the same with --cursor ")
    assert (await here.run("list", "--limit", "2", "--cursor", last.split()[-1])).out.split().count("queued") == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cursor", "x"), "cursor"), (("--since", "yesterday"), "--since"), (("--until", "2026-03-01"), "--until"),
        (("--status", "done"), "--status"), (("--severity", "page"), "--severity"), (("--verdict", "x"), "--verdict"),
    ],
)  # fmt: skip
async def test_what_cannot_be_meant_is_wrong_usage_by_name(
    here: Installation, options: tuple[str, ...], told: str
) -> None:
    ran = await here.run("list", *options)

    assert ran.code == Exit.USAGE
    assert told in ran.err


def test_the_words_of_the_options_are_those_of_the_domain() -> None:
    assert [str(one) for one in list_command.StatusWord] == [str(one) for one in Status]
    assert [str(one) for one in list_command.SeverityWord] == [str(one) for one in Severity]
    assert {str(one) for one in list_command.VerdictWord} == {str(one) for one in Verdict}


# ---- what is left of a cancelled one


def test_whoever_looks_at_a_cancelled_one_ends_with_5_and_its_journal_is_whole(cli: Cli, posts: Posts) -> None:
    found = posts.open("s")
    cli.run("cancel", found)

    assert cli.run("show", found).code == Exit.CANCELLED
    assert cli.run("show", found, "--follow").code == Exit.CANCELLED
    replayed = cli.run("replay", found)
    assert (replayed.code, replayed.out) == (
        0,
        f"{found}: was cancelled before it began; there is nothing to rebuild\n",
    )
    posts.change("update inquest.investigation set version = 2 where investigation_id = %s", found)
    assert cli.run("replay", found).code == Exit.FAILED
