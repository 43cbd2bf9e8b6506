"""From the commit of an accept to the first action of a worker that had nothing to do.

Both ends are commit times that Postgres keeps (track_commit_timestamp), so one clock measures: from the commit
of the receipt to the claim, and to the commit of the investigation's first event.
"""

from __future__ import annotations

from bench.errors import BenchBroken
from bench.installation import installation, until
from bench.intake import Poster
from bench.pace import Pace
from bench.rows import Aim, Figure, Row
from bench.summary import percentile
from bench.surroundings import Watch

NAME = "first_action"
PACE = Pace(lanes=8, seconds=20.0, most=100, per_second=1.0)
"""Far enough apart that the worker idles when the next one comes."""
AIM_MS = 50.0
DONE_S = 60.0
_MOMENTS = """
select extract(epoch from i.started_at - pg_xact_commit_timestamp(r.xmin)) * 1000,
  extract(epoch from pg_xact_commit_timestamp(e.xmin) - pg_xact_commit_timestamp(r.xmin)) * 1000
from intake_receipt r join investigation i using (receipt_id) join event e using (investigation_id)
where e.seq = 1
"""
_UNDONE = "select count(*) from investigation where ended_at is null"


def measure() -> list[Row]:
    """Post one new group after the other beside an idle worker."""
    watch = Watch()
    with installation({"track_commit_timestamp": "on"}) as one, one.serving(), one.working():
        with watch.round():
            sent = Poster(one).post(0, PACE)
        until(lambda: one.value(_UNDONE) == 0, "every investigation has ended", DONE_S)
        moments = [(float(claim), float(event)) for claim, event in one.rows(_MOMENTS)]
    if len(moments) != PACE.posts or sent.accepted != PACE.posts:
        raise BenchBroken(f"{PACE.posts} posts, {sent.accepted} taken in, {len(moments)} begun")
    return [
        _row("commit to claim", [claim for claim, _ in moments], watch),
        _row("commit to the first event's commit", [event for _, event in moments], watch),
    ]


def _row(what: str, found_ms: list[float], watch: Watch) -> Row:
    return Row(
        bench=NAME,
        what=what,
        figures=(
            Figure(name="p50", value=percentile(found_ms, 50), unit="ms"),
            Figure(name="p90", value=percentile(found_ms, 90), unit="ms"),
            Figure(name="max", value=max(found_ms), unit="ms"),
        ),
        aims=(Aim(figure="p90", most=AIM_MS),),
        surroundings=watch.surroundings,
        note=f"{len(found_ms)} alerts, {PACE.per_second:g}/s",
    )
