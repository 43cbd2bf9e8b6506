"""Postgres goes away under load, in two ways: nothing that was acknowledged is lost, and everything goes on."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inquest.store.database import Database
from tests.e2e.outages import ACCEPTED, PATIENCE_S, UNAVAILABLE, Restarting, Sender, restarting_postgres
from tests.e2e.served import served
from tests.e2e.servers import TOKEN, Inquest
from tests.fakes.loopback import Reply, Seen
from tests.fakes.prometheus import success
from tests.waiting import until

pytestmark = pytest.mark.e2e

EVERY_S = 0.2
BEFORE = 10
"""Posts that are taken in before it goes away."""
NEW_GROUP_EVERY = 20
"""Posts. Each group is an investigation."""
WAYS = ("stopped", "frozen")

_LEFT = """
select (select count(*) from inquest.investigation where status <> 'succeeded') as not_succeeded,
       (select count(*) from inquest.investigation) as investigations,
       (select coalesce(max(attempt), 0) from inquest.investigation) as attempt,
       (select count(*) from inquest.delivery where kind = 'report' and state in ('planned', 'reserved')) as unsent,
       (select count(*) from inquest.delivery where kind = 'report' and state = 'sent') as reports,
       (select array_agg(fingerprint order by fingerprint) from inquest.alert) as fingerprints
"""


def nothing_is_known(_: Seen) -> Reply:
    """Answer as a Prometheus without data does."""
    return success({"resultType": "matrix", "result": []})


async def test_nothing_is_lost_and_everything_goes_on(
    tmp_path: Path, say: Callable[[str], None], request: pytest.FixtureRequest
) -> None:
    away_s = float(request.config.getoption("--away-s"))
    key = tmp_path / "inquest.key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    with served(nothing_is_known) as prometheus, restarting_postgres() as postgres:
        given = {"INQUEST_DATABASE_URL": postgres.url, "INQUEST_KEY_FILE": str(key)}
        inquest, sender = Inquest(tmp_path, more_environment=given), None
        inquest.configure(prometheus_url=prometheus)
        with inquest.serving() as service, inquest.working(1) as worker:
            worker.until_says("worker_started")
            for way in WAYS:
                sender = Sender(inquest.intake_url, TOKEN, first=0 if sender is None else sender.sent)
                await goes_away(way, postgres, sender, away_s, say)
                await everything_is_there(postgres, sender.sent, say)
            service.must_live()
            worker.must_live()


async def goes_away(way: str, postgres: Restarting, sender: Sender, away_s: float, say: Callable[[str], None]) -> None:
    """Post before, during and after, each post until it is taken in."""
    enough = asyncio.Event()
    posting = asyncio.create_task(sender.send(EVERY_S, enough, new_group_every=NEW_GROUP_EVERY))
    await until(lambda: sender.count(ACCEPTED) >= BEFORE, patience_s=PATIENCE_S)
    await asyncio.to_thread(postgres.stop_at_once if way == "stopped" else postgres.freeze)
    await asyncio.sleep(away_s)  # so long it is away: this is what is tried, not a wait for something
    await until(lambda: sender.count(UNAVAILABLE), patience_s=PATIENCE_S)
    await asyncio.to_thread(postgres.start_again if way == "stopped" else postgres.thaw)
    back, behind = time.monotonic(), sender.sent
    await until(lambda: len(sender.taken) >= behind - sender.first, patience_s=PATIENCE_S)
    enough.set()
    await posting
    say(
        f"{way} for {away_s:g} s: {sender.count(UNAVAILABLE)} answers were 503, half of them within "
        f"{sender.within_s(UNAVAILABLE, 0.5):.2f} s, the slowest after {sender.within_s(UNAVAILABLE, 1):.2f} s; all that was sent meanwhile was in {time.monotonic() - back:.1f} s "
        "after its return"
    )
    assert {status for status, _ in sender.told} == {ACCEPTED, UNAVAILABLE}


async def everything_is_there(postgres: Restarting, sent: int, say: Callable[[str], None]) -> None:
    """Wait for quiet, and check by the database's rows alone."""
    database, began = Database(postgres.url), time.monotonic()

    async def is_quiet() -> bool:
        row = await database.row(_LEFT, {})
        return row is not None and row.not_succeeded == row.unsent == 0

    await until(is_quiet, patience_s=PATIENCE_S)
    say(f"quiet {time.monotonic() - began:.1f} s later")
    row = await database.row(_LEFT, {})
    await database.aclose()
    assert row is not None
    assert row.fingerprints == [f"{number:016x}" for number in range(sent)]
    assert (row.investigations, row.reports) == (1 + (sent - 1) // NEW_GROUP_EVERY,) * 2
    assert row.attempt == 1
