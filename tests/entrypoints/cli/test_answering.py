"""answer, and how a waiting investigation is shown: the same at the database and through a running service."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inquest.domain.budget import MAX_ANSWER_CHARS
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.waiting import how_to_answer, question_of
from tests.entrypoints.cli.running import Cli
from tests.entrypoints.cli.test_acting import Installation, here
from tests.entrypoints.cli.test_showing import NOBODYS, Posts, posts
from tests.store.builders import Store, interrupt_raised, run_started, write

__all__ = ["here", "posts"]  # fixtures


def ask(made: Posts, found: str) -> None:
    """Let the investigation, the only one that may run, ask."""
    asyncio.run(_ask(made, found))


async def _ask(made: Posts, found: str) -> None:
    store = Store(made.database.url, made.database.conninfo, "default")
    claim = await store.claimed()
    question = interrupt_raised(f"{found}-q1").but(prompt="Who \x1b[2J deployed?")
    await store.journal.commit(write(claim.fence, 0, run_started(claim.identity), question))
    await store.database.aclose()


async def test_the_open_question_is_answered_and_a_second_answer_is_refused(here: Installation) -> None:
    found = await here.open("s")
    await asyncio.to_thread(ask, here.posts, found)

    first = await here.run("answer", found, "alice did")
    again = await here.run("answer", found, "bob did")
    named = await here.run("answer", found, f"{found}-q1", "bob did")

    assert (first.code, first.out) == (0, f"{found} is queued: it goes on with the answer\n")
    assert (again.code, again.err) == (Exit.FAILED, f"{found} is queued: it asks nothing\n")
    assert (named.code, named.err) == (Exit.FAILED, "it was answered before\n")


async def test_another_questions_name_is_not_found_and_it_still_waits(here: Installation) -> None:
    found = await here.open("s")
    await asyncio.to_thread(ask, here.posts, found)

    ran = await here.run("answer", found, f"{found}-q9", "alice")

    assert ran.code == Exit.FAILED
    assert ran.err.startswith("not found: ")
    row = (await here.run("answer", found, f"{found}-q1", "alice", "--json")).json
    assert (row["id"], row["status"], row["question"]) == (found, "queued", None)


async def test_a_waiting_one_says_what_it_asks_and_what_to_type(here: Installation) -> None:
    found = await here.open("s")
    await asyncio.to_thread(ask, here.posts, found)

    listed = await here.run("list")

    assert f"{found} asks: Who " in listed.out
    assert f'answer with: inquest answer {found} "TEXT" (until 2' in listed.out
    assert "\x1b" not in listed.out


def test_show_says_it_too(cli: Cli, posts: Posts) -> None:
    found = posts.open("s")
    ask(posts, found)

    plain, as_json = cli.run("show", found), cli.run("show", found, "--json")

    first, second = plain.out.splitlines()
    assert first.startswith(f"{found} is waiting: Who ")
    assert second.startswith(f'answer with: inquest answer {found} "TEXT" (until ')
    assert as_json.json["question"]["interrupt_id"] == f"{found}-q1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alice", "did", "it"], "TEXT: put the answer in quotes, or give - and write it to standard input"),
        (["  "], "TEXT: holds no text"),
        (["x" * (MAX_ANSWER_CHARS + 1)], f"TEXT: longer than {MAX_ANSWER_CHARS} characters"),
    ],
)
def test_what_can_be_no_answer_is_wrong_usage(cli: Cli, words: list[str], said: str) -> None:
    ran = cli.run("answer", NOBODYS, *words)

    assert (ran.code, ran.err) == (Exit.USAGE, f"{said}\n")


def test_the_answer_is_read_from_standard_input(
    cli: Cli, posts: Posts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = posts.open("s")
    ask(posts, found)
    given = tmp_path / "answer.txt"
    given.write_text("alice,\nsince 10:01")

    with given.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        ran = cli.run("answer", found, "-")

    assert ran.code == 0


def test_one_that_is_nowhere_is_not_found(cli: Cli, posts: Posts) -> None:
    ran = cli.run("answer", NOBODYS, "x")

    assert (ran.code, ran.err.split(":")[0]) == (Exit.FAILED, "not found")


def test_a_service_that_knows_no_questions_is_shown_as_before() -> None:
    row = {"id": NOBODYS, "status": "waiting"}

    assert (question_of(row), how_to_answer(row)) == ("", "")
