"""Workers that sleep past their lease, are cut off from the database, or have a wrong clock, as real processes.

What they do when they are back changes nothing: no commit, no delivery, no failed investigation.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from inquest.domain.event import GenerationAdvanced
from tests.fakes.cut_line import cut_line
from tests.runtime.houses import PATIENCE_S, House, kill
from tests.waiting import until
from tests.wrong_clock import wrong_by

pytestmark = pytest.mark.e2e
POINTS = ("begin", "call/2", "commit/2")


async def recorded(house: House, name: str = "inv-1") -> tuple[Any, ...]:
    """Give everything that a zombie could have changed."""
    chronicle = await house.store.journal.load(name)
    deliveries = house.store.look("select * from delivery d join delivery_target using (target_id) order by target_id")
    return house.row(name), chronicle, deliveries, await house.world.messages(), await house.world.calls()


def of_the_new_owner(house_row: dict[str, Any], events: tuple[Any, ...]) -> None:
    """Check that it ended well, and that behind the take-over nobody wrote but who took over."""
    assert (house_row["status"], house_row["generation"]) == ("succeeded", 2)
    advanced = [at for at, event in enumerate(events) if isinstance(event.body, GenerationAdvanced)]
    assert {event.generation for event in events[advanced[0] if advanced else 0 :]} == {2}


@pytest.mark.parametrize("point", POINTS)
async def test_a_zombie_commits_nothing_and_works_on_afterwards(house: House, point: str) -> None:
    await house.world.pause(point)
    zombie = await house.worker()
    await house.reached(point)
    zombie.send_signal(signal.SIGSTOP)
    peer = await house.worker()
    await house.reached(point, times=2)
    await house.world.resume(point)
    await house.ended()
    await house.sent()
    before = await recorded(house)
    of_the_new_owner(before[0], before[1].events)
    await kill(peer)  # whatever comes now is the zombie's

    zombie.send_signal(signal.SIGCONT)
    await house.open("inv-2")
    await house.ended("inv-2")
    await house.sent(2)

    row, chronicle, _, messages, calls = await recorded(house)
    assert (row, chronicle) == before[:2]
    assert sorted(body for _, body in messages) == ["inv-1 report r1", "inv-2 report r1"]
    assert [call for call in calls if call[0] == "inv-1"] == before[4]
    assert (house.row("inv-2")["status"], zombie.returncode) == ("succeeded", None)


async def test_a_paused_sender_sends_nothing_after_another_took_over(house: House) -> None:
    await house.world.pause("before_send")
    zombie = await house.worker()
    await house.reached("before_send")
    zombie.send_signal(signal.SIGSTOP)
    await house.world.resume("before_send")
    second = await house.worker()
    await house.sent()
    await kill(second)
    os.kill(zombie.pid, signal.SIGCONT)
    await house.open("inv-2")
    await house.ended("inv-2")
    await house.sent(2)
    assert sorted(body for _, body in await house.world.messages()) == ["inv-1 report r1", "inv-2 report r1"]


async def test_a_worker_that_is_cut_off_from_the_database_commits_nothing_when_it_is_back(house: House) -> None:
    there = conninfo_to_dict(house.store.conninfo)
    async with cut_line(f"{there['host']}/.s.PGSQL.{there.get('port', 5432)}") as line:
        url = make_url(house.store.database.url).set(host="127.0.0.1", port=line.port, query={})
        await house.world.pause("commit/2")
        cut_off = await house.worker(url=url.render_as_string(hide_password=False))
        await house.reached("commit/2")
        line.hold()
        await house.worker()
        await house.reached("commit/2", times=2)
        await house.world.resume("commit/2")
        await house.ended()
        await house.sent()
        before = await recorded(house)
        of_the_new_owner(before[0], before[1].events)

        line.let_go()
        await house.open("inv-2")
        await house.ended("inv-2")
        await house.sent(2)

        assert (await recorded(house))[:2] == before[:2]
        assert len(await house.world.messages()) == 2
        await kill(cut_off)


@pytest.mark.parametrize("offset_s", [-3_600.0, 86_400.0 - time.time()], ids=["an hour behind", "in 1970"])
async def test_a_process_with_a_wrong_clock_keeps_its_lease_and_ends_its_work(
    house: House, tmp_path: Path, offset_s: float
) -> None:
    await house.world.pause("commit/2")
    await house.worker(environment=wrong_by(offset_s, tmp_path))
    await house.reached("commit/2")
    await house.worker()  # ready to take over
    for _ in range(4):  # more than a lease
        await renewed(house)
    await house.world.resume("commit/2")
    await house.ended()
    await house.sent()
    row = house.row()
    assert (row["generation"], row["attempt"], await house.turns()) == (1, 1, [1, 2, 3])
    assert [body for _, body in await house.world.messages()] == ["inv-1 report r1"]


async def renewed(house: House) -> None:
    """Wait for the next renewal of the lease."""
    ends = house.row()["lease_expires_at"]
    await until(lambda: house.row()["lease_expires_at"] > ends, patience_s=PATIENCE_S)
