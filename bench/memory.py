"""Memory of the two processes: resident when ready, and at its highest after some work. Linux tells it in /proc."""

from __future__ import annotations

from pathlib import Path

from bench.installation import Running, installation
from bench.intake import Poster
from bench.investigation import check_turns, run_one
from bench.pace import Pace
from bench.rows import Figure, Row
from bench.stand_in import watched_by_stand_in
from bench.surroundings import Watch

NAME = "memory"
LOAD = Pace(lanes=32, seconds=30.0, most=2_000)
INVESTIGATIONS = 5
_KB_OF_MB = 1024


def measure() -> list[Row]:
    """Take 2,000 posts of 50 groups in, and run five investigations with a model; none where /proc does not tell."""
    if not Path("/proc/self/status").exists():
        return []
    watch = Watch()
    with installation() as one, watched_by_stand_in(one), one.serving() as serving:
        with one.working() as working, watch.round():
            ready = memory_mb(serving), memory_mb(working)
            poster = Poster(one)
            for _ in range(INVESTIGATIONS):
                run_one(one, poster)
            check_turns(one)
            worked = memory_mb(working)
        poster.post(50, LOAD)
        served = memory_mb(serving)
    investigated = f"after {INVESTIGATIONS} investigations"
    return [
        _row("inquest serve", f"after {LOAD.most:,} posts", ready[0], served, watch),
        _row("inquest work, litellm loaded", investigated, ready[1], worked, watch),
    ]


def memory_mb(process: Running) -> tuple[float, float]:
    """Give what is resident now, and the most that was, of a process that lives. Raises BenchBroken."""
    process.must_live()
    return read_status(Path(f"/proc/{process.process.pid}/status").read_text())


def read_status(status: str) -> tuple[float, float]:
    """Read VmRSS and VmHWM out of /proc/PID/status, in MiB."""
    kilobytes = {name: value for name, _, value in (line.partition(":") for line in status.splitlines())}
    now, most = (int(kilobytes[name].split()[0]) / _KB_OF_MB for name in ("VmRSS", "VmHWM"))
    return now, most


def _row(what: str, when: str, ready: tuple[float, float], after: tuple[float, float], watch: Watch) -> Row:
    return Row(
        bench=NAME,
        what=what,
        figures=(
            Figure(name="ready", value=ready[0], unit="MiB"),
            Figure(name="after", value=after[0], unit="MiB"),
            Figure(name="highest", value=after[1], unit="MiB"),
        ),
        surroundings=watch.surroundings,
        note=when,
    )
