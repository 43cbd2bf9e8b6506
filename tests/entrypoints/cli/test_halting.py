"""halt and resume: the same at the database and through a running service, and list says that a halt stands."""

from __future__ import annotations

import pytest

from inquest.entrypoints.cli.exits import Exit
from tests.entrypoints.cli.test_acting import Installation, here, posts

__all__ = ["here", "posts"]  # fixtures


async def test_a_halt_says_what_since_when_and_by_whom_and_a_resume_that_nothing_is(here: Installation) -> None:
    halted, again = await here.run("halt", "--by", "ana"), await here.run("halt", "--json")
    resumed = await here.run("resume")

    assert halted.out.startswith("halted: everything since 20")
    assert halted.out.endswith(" UTC by ana\n")
    assert [(one["workspace"], one["actor"]) for one in again.json["halts"]] == [(None, "ana")]
    assert (resumed.code, resumed.out) == (0, "nothing is halted\n")


async def test_one_workspace_is_halted_by_its_name_and_a_wrong_name_halts_nothing(here: Installation) -> None:
    await here.open()

    halted = await here.run("halt", "--workspace", "default")
    wrong = await here.run("halt", "--workspace", "defualt")

    assert halted.out.startswith("halted: workspace default since ")
    assert (wrong.code, wrong.err.split(":")[0]) == (Exit.FAILED, "not found")
    assert (await here.run("resume", "--workspace", "default")).out == "nothing is halted\n"


async def test_a_list_says_that_a_halt_stands(here: Installation) -> None:
    await here.open()
    assert "halted" not in (await here.run("list")).err
    await here.run("halt")

    ran = await here.run("list")

    assert ran.err.startswith("halted: everything since ")
    assert "queued" in ran.out


@pytest.mark.parametrize("by", ["", "a\nb", "x" * 201])
async def test_a_name_that_cannot_be_shown_is_refused(here: Installation, by: str) -> None:
    ran = await here.run("halt", "--by", by)

    assert (ran.code, ran.err.split(":")[0]) == (Exit.USAGE, "--by")
