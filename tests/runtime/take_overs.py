"""How long it takes until a killed worker's investigation goes on: `python -m tests.runtime.take_overs [KILLS]`.

Two workers with the leases and sweeps of the default, over a database of their own; the one that owns the
investigation is killed in a call. Each figure is from the kill to the take-over, by the database's clock.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from inquest.store.embedded import start
from inquest.store.lease import LEASE
from inquest.store.migrate import upgrade
from inquest.telemetry import configure_logging
from tests.postgres import SETTINGS
from tests.runtime.houses import House, kill, prepared
from tests.waiting import until

KILLS = 10
BOUND_S = 10.0
PATIENCE_S = 60.0


async def killed_and_taken_over(house: House, name: str) -> float:
    """Kill the owner of a new investigation in its second call, and give the seconds until another one owns it."""
    await house.world.pause("call/2")
    already = len(await house.world.reached("call/2"))
    await house.open(name)
    await house.reached("call/2", times=already + 1)
    owner = house.row(name)["owner_id"]
    pid = await house.world.pid_of(owner)
    (victim,) = [process for process in house.processes if process.pid == pid]
    ((killed_at,),) = [tuple(row.values()) for row in house.store.look("select clock_timestamp()")]
    await kill(victim)
    await house.worker(lease_s=LEASE.total_seconds())
    row = await until(lambda: taken_from(house, name, owner), patience_s=PATIENCE_S)
    assert row is not None
    await house.world.resume("call/2")
    await house.ended(name)
    return float((row["committed_at"] - killed_at).total_seconds())


def taken_from(house: House, name: str, owner: str) -> dict[str, Any] | None:
    """Give the event of the take-over, None while `owner` has it."""
    if house.row(name)["owner_id"] == owner:
        return None
    rows = house.store.look(
        "select committed_at from event where investigation_id = %s and kind = 'generation_advanced'", name
    )
    return rows[0] if rows else None


async def measure(kills: int) -> list[float]:
    """Give the seconds of each of so many take-overs."""
    base = Path(tempfile.mkdtemp(prefix="inquest-take-overs-"))
    server = await asyncio.to_thread(start, base, settings=SETTINGS)
    try:
        await asyncio.to_thread(upgrade, server.sqlalchemy_url("postgres"))
        async with prepared(server.sqlalchemy_url("postgres"), server.conninfo) as house:
            for _ in range(2):
                await house.worker(lease_s=LEASE.total_seconds())
            return [await killed_and_taken_over(house, f"inv-{number}") for number in range(kills)]
    finally:
        await asyncio.to_thread(server.stop)
        shutil.rmtree(base)


def main(kills: int) -> int:
    """Measure, and say it; 1 when a take-over took longer than the bound."""
    took = sorted(asyncio.run(measure(kills)))
    sys.stdout.write(
        f"take-overs: {kills} kills, {took[0]:.1f} s to {took[-1]:.1f} s, median {statistics.median(took):.1f} s,"
        f" bound {BOUND_S:g} s\n"
    )
    return int(took[-1] > BOUND_S)


if __name__ == "__main__":
    configure_logging(fmt="json", level="error")
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else KILLS))
