"""`inquest try` at a real Prometheus: now and then, nothing firing, interrupted, and at what is no Prometheus at all.

The commands are those of docs/tutorials/your-own-prometheus.md: what a reader types is what is tested.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from inquest.destinations.verification import verify
from inquest.entrypoints.cli.exits import Exit
from tests.docs.pages import ROOT, blocks
from tests.e2e.past import give_a_past
from tests.e2e.servers import ALERT, Prometheus, Shop, needs_servers, prometheus, running, shop
from tests.e2e.stand_ins import StandIn, journalling_proxy
from tests.fakes.loopback import Act, Reply, Seen, loopback
from tests.loopback import HOST, free_port
from tests.waiting import until

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs/tutorials/your-own-prometheus.md"
LIVE_SAMPLES = 5
"""So long is the shop itself seen healthy, after its written past."""
A_STEP = timedelta(seconds=1)
"""Between two looks at whether an alert still fires: its end is known to that."""
PATIENCE_S = 60.0
COMMAND_S = 90.0
FIRES = 'ALERTS{alertstate="firing"}'
SEEN = "count_over_time(checkout_db_pool_connections_in_use[10s])"
READS = re.compile(r"/api/v1/(query|query_range|series|labels|label/[^/]+/values|metadata|rules|alerts)")
QUERIES = frozenset({"/api/v1/query", "/api/v1/query_range", "/api/v1/series", "/api/v1/labels"})
"""What may be posted to: a long expression fits no URL."""


@dataclass(frozen=True)
class Place:
    """A shop, the Prometheus that watches it, and a door before that keeps a journal. Nothing of ours is set up."""

    folder: Path
    shop: Shop
    prometheus: Prometheus
    door: StandIn

    @property
    def environment(self) -> dict[str, str]:
        """Give an environment that says nothing of Inquest; temporary folders are made where the test sees them."""
        (self.folder / "tmp").mkdir(exist_ok=True)
        return environment(TMPDIR=str(self.folder / "tmp"))

    def type_in(self, title: str, *, at: datetime | None = None) -> subprocess.CompletedProcess[str]:
        """Run the page's command of that title, at this Prometheus, in a folder of the test, and at that moment."""
        (command,) = [block.text for block in blocks(PAGE) if block.title == title]
        command = command.replace("http://127.0.0.1:9090", self.door.url).replace("try-it", str(self.kept))
        command = command.replace(".venv/bin/inquest", f"{sys.executable} -m inquest")
        if at is not None:
            command = re.sub('--at "[^"]+"', f"--at {at.timestamp()}", command)
        return subprocess.run(
            ["sh", "-euc", command],
            env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False,
        )  # fmt: skip

    @property
    def kept(self) -> Path:
        """Give the folder that the page calls try-it."""
        return self.folder / "kept"

    def fires(self) -> bool:
        return self.prometheus.value(FIRES) is not None


def environment(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if not name.startswith("INQUEST_")}, **more}


def try_out(options: Sequence[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "inquest", "try", *options],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    with ExitStack() as starts:
        the_shop = starts.enter_context(shop(folder))
        give_a_past(folder / "prometheus", the_shop, folder)
        metrics = starts.enter_context(prometheus(folder, scrapes=the_shop, alertmanager_port=free_port()))
        yield Place(folder, the_shop, metrics, starts.enter_context(journalling_proxy(folder, metrics.url)))


@needs_servers
async def test_what_fires_or_fired_there_gets_a_verified_report_and_only_reads_are_sent(tmp_path: Path) -> None:
    with place(tmp_path) as there:
        assert there.type_in("dry").returncode == Exit.ANSWERED
        assert there.door.entries() == []
        nothing = there.type_in("now")
        assert nothing.returncode == Exit.ANSWERED, nothing.stderr
        assert "there is nothing to investigate" in nothing.stdout
        assert f"alerting rules:\n  {ALERT} inactive" in nothing.stdout
        await until(lambda: (there.prometheus.value(SEEN) or 0) >= LIVE_SAMPLES, patience_s=PATIENCE_S)

        there.shop.break_it()
        await until(there.fires, patience_s=PATIENCE_S)
        fired_at = datetime.now(UTC)
        report = names_the_cause(there.type_in("now"))
        assert (report["episode_state"], report["resolved_at"]) == ("firing", None)

        there.shop.repair_it()
        await until(lambda: not there.fires(), patience_s=PATIENCE_S)
        over_by = datetime.now(UTC)
        report = names_the_cause(there.type_in("then", at=fired_at))
        assert report["episode_state"] == "resolved"
        assert fired_at < datetime.fromisoformat(report["resolved_at"]) <= over_by + A_STEP
        assert there.type_in("verify").returncode == Exit.ANSWERED
        assert report["investigation_id"] in there.type_in("list").stdout
        only_reads(there.door)


def names_the_cause(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Check that the report lies where it is said to, verifies, and names the right object; give it."""
    assert ran.returncode == Exit.ANSWERED, ran.stdout[-2000:] + ran.stderr[-2000:]
    folder = Path(ran.stdout.rsplit("inquest verify ", 1)[1].strip())
    assert verify(folder).problems == ()
    report: dict[str, Any] = json.loads((folder / "report.json").read_bytes())["report"]
    diagnosis = report["diagnosis"]
    found = (diagnosis["verdict"], diagnosis["root_cause_category"], diagnosis["affected_object"])
    assert found == ("cause_found", "resource.connection_pool_exhausted", "service/shop/checkout"), diagnosis
    assert diagnosis["non_validated_claims"] == []
    assert report["facts"]["expression"]
    return report


def only_reads(door: StandIn) -> None:
    """Check that nothing was sent but GET below the API, and POST to its query endpoints."""
    asked = [entry for entry in door.entries() if entry["what"] == "asked"]
    assert len(asked) > 20
    assert {entry["method"] for entry in asked if entry["path"] not in QUERIES} == {"GET"}
    assert {entry["method"] for entry in asked} <= {"GET", "POST"}
    assert {entry["path"] for entry in asked if not READS.fullmatch(entry["path"])} == set()


@needs_servers
async def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    with place(tmp_path) as there:
        there.shop.break_it()
        await until(there.fires, patience_s=PATIENCE_S)
        command = [sys.executable, "-m", "inquest", "try", "--prometheus", there.door.url]
        with running("try", command, tmp_path, there.environment) as ran:
            await asyncio.to_thread(ran.until_says, "  database  ")
            ran.process.send_signal(signal.SIGINT)
            code = await asyncio.to_thread(ran.process.wait, COMMAND_S)

        assert (code, "Traceback" in ran.output()) == (Exit.INTERRUPTED, False), ran.output()
        assert left_in(tmp_path / "tmp") == []


# ---- no Prometheus -----------------------------------------------------------------------------------------

BOMB = gzip.compress(b"[" * (17 * 1024 * 1024))
NOT_ONE: dict[str, tuple[Act, Exit]] = {
    "html": (Reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), Exit.USAGE),
    "login": (Reply(302, b"", {"Location": "https://login.example.com/?next=/"}), Exit.USAGE),
    "unauthorized": (Reply(401, b"who are you"), Exit.USAGE),
    "forbidden": (Reply(403, b"not you"), Exit.USAGE),
    "bomb": (Reply(200, BOMB, {"Content-Encoding": "gzip", "Content-Type": "application/json"}), Exit.FAILED),
}


async def test_what_is_no_prometheus_is_one_clear_line(tmp_path: Path) -> None:
    def answer(seen: Seen) -> Act:
        return NOT_ONE[seen.path.split("/")[1]][0]

    async with loopback(answer) as fake:
        urls = {name: f"{fake.url}/{name}" for name in NOT_ONE}
        urls["nobody"] = f"http://{HOST}:{free_port()}"
        env = environment(TMPDIR=str(tmp_path))
        for name, url in urls.items():
            ran = await asyncio.to_thread(try_out, ["--prometheus", url], env)

            assert ran.returncode == NOT_ONE.get(name, (None, Exit.FAILED))[1], name
            (line,) = ran.stderr.splitlines()
            assert line.startswith(f"--prometheus {url}: asked for GET /api/v1/alerts: "), name
    assert left_in(tmp_path) == []


def left_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]
