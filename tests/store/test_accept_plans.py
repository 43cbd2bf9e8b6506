"""What one post reads does not grow with the tables, whatever the plans were made on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from inquest.domain.alert import Alert
from tests.store.door import Door, firing, intake, resolved

BY_SHARD = intake(group_by=("shard",), max_new_per_hour=20, destinations=("slack",))
WARM = 8
"""Enough for the server to keep a plan, on tables that are still empty."""
GROUPS = 1_500
MOST_ROWS = 200
"""Index entries and rows that one small post may read; a look-up that went wrong reads each of GROUPS."""


async def rows_read(door: Door, do: Callable[[], Awaitable[object]]) -> int:
    """Count the entries and rows that the store's one connection reads in `do`."""
    before = await _read(door)
    await do()
    return await _read(door) - before


async def _read(door: Door) -> int:
    await door.database.value("select pg_stat_force_next_flush()::text", {})
    await door.database.value("select 1", {})
    (indexes,) = door.column("select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = 'inquest'")
    (tables,) = door.column("select sum(seq_tup_read)::int from pg_stat_user_tables where schemaname = 'inquest'")
    return int(indexes + tables)


@pytest.mark.parametrize("door", [1], indirect=True)
async def test_a_small_post_reads_no_more_when_the_tables_are_full(door: Door) -> None:
    def alert(shard: str) -> Alert:
        return firing(shard=shard)

    for turn in range(WARM):
        await door.post(alert(f"warm-{turn}"), into=BY_SHARD)
        await door.post(alert(f"warm-{turn}"), firing(shard=f"warm-{turn}", pod="x"), into=BY_SHARD)
        await door.post(resolved(shard=f"warm-{turn}"), into=BY_SHARD)
        await door.post(alert(f"warm-{turn}"), firing("Watchdog", pod=str(turn)), into=BY_SHARD)
    await door.post(*(alert(str(n)) for n in range(GROUPS)), into=BY_SHARD)

    small: dict[str, tuple[Alert, ...]] = {
        "a new group": (alert("new"),),
        "a repeat": (alert("7"),),
        "a member that joins": (firing(shard="7", pod="x"), firing(shard="7", pod="y", severity="critical")),
        "a resolve": (resolved(shard="8"),),
        "one that fires again": (alert("8"),),
        "a resolve that was never seen": (resolved(shard="9", pod="z"),),
        "a heartbeat": (firing("Watchdog", pod="new"),),
    }
    for name, alerts in small.items():
        read = await rows_read(door, lambda alerts=alerts: door.post(*alerts, into=BY_SHARD))  # type: ignore[misc]
        assert read < MOST_ROWS, name
