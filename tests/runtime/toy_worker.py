"""A worker in a process of its own, for tests that kill, stop and restart it.

python -m tests.runtime.toy_worker '{"url": .., "conninfo": .., "lease_s": 1.0, ..}'
"""

import asyncio
import json
import os
import sys
from datetime import timedelta

from inquest.runtime.supervisor import end_every_task
from inquest.runtime.worker import run_forever
from inquest.store.database import Database
from inquest.store.journal import PostgresJournal
from inquest.telemetry import configure_logging
from tests.runtime.toy import ToyPipeline, World, make_worker


async def main(
    *, url: str, conninfo: str, lease_s: float, turns: int, grace_s: float, send_for_s: float, concurrency: int
) -> None:
    database, world = Database(url), World(conninfo)
    worker = make_worker(
        database,
        ToyPipeline(PostgresJournal(database, "acme"), world, turns=turns).run,
        world,
        lease=timedelta(seconds=lease_s),
        grace_s=grace_s,
        send_for=timedelta(seconds=send_for_s),
        concurrency=concurrency,
    )
    await world.enlist(os.getpid())
    await run_forever(worker)
    await database.aclose()
    await end_every_task()


if __name__ == "__main__":
    configure_logging(fmt="json", level="info")
    asyncio.run(main(**json.loads(sys.argv[1])))
