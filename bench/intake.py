"""Webhooks a second: posts of new groups and repeats of known ones, open loop and closed, with only `inquest serve`.

No worker runs: what it costs is in the other tables. The rounds of all cells are interleaved, so that a busy
minute of the machine spoils a little of each and not all of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.errors import BenchBroken
from bench.installation import HOST, Installation, installation, until
from bench.pace import Pace, Sent, together
from bench.rounds import rounds
from bench.rows import Aim, Figure, Row, Surroundings
from bench.sender import Plan, sent_by_process
from bench.summary import percentile, span
from bench.surroundings import Watch
from inquest.domain.value import rfc3339

NAME = "intake"
ROUNDS = 3
MOST_S = 110.0
OPEN_LANES = 64
"""As many posts as one `inquest serve` takes in at a time; the next one would be answered 503."""
OPEN_S = 5.0
CLOSED_LANES = (1, 8, 32)
CLOSED_S = 1.5
MOST = 4_000
"""Posts of one cell in one round."""
WARM_UP = Pace(lanes=8, seconds=1.0, most=400)
P99_MS = 100.0
OFFERED_FOR_AIM = 1.1
"""An open loop offers a tenth more than the aim: of what is offered, the last posts are answered after its window."""
DRAIN_S = 30.0
_IN_FLIGHT = """
select count(*) from pg_stat_activity where state <> 'idle' and pid <> pg_backend_pid() and query like '%%accept(%%'
"""
_DURABLE = "select name, setting from pg_settings where name in ('fsync', 'synchronous_commit') order by name"


@dataclass(frozen=True)
class Kind:
    """What is posted: new groups, or repeats over some. `per_second` is the rate aimed at."""

    name: str
    groups: int
    per_second: float
    has_aim: bool = True

    @property
    def offered(self) -> float:
        """Give the open loop's rate."""
        return self.per_second * OFFERED_FOR_AIM


KINDS = (
    Kind("new groups", groups=0, per_second=300.0),
    Kind("repeats, 50 groups", groups=50, per_second=500.0),
    Kind("repeats, 1 group", groups=1, per_second=500.0, has_aim=False),
)


@dataclass
class Cell:
    """One kind at one pace, and what its rounds brought."""

    kind: Kind
    pace: Pace
    rounds: list[Sent] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)

    @property
    def is_open(self) -> bool:
        """Say whether posts are due by the clock."""
        return self.pace.per_second is not None


def cells() -> list[Cell]:
    """Give every cell: each kind, open loop and at each concurrency."""
    paces = [Pace(lanes=lanes, seconds=CLOSED_S, most=MOST) for lanes in CLOSED_LANES]
    return [
        Cell(kind, pace)
        for kind in KINDS
        for pace in (Pace(lanes=OPEN_LANES, seconds=OPEN_S, most=MOST, per_second=kind.offered), *paces)
    ]


def measure() -> list[Row]:
    """Run every cell ROUNDS times, or for MOST_S, and compare the rows with the 202s. Raises BenchBroken when one is lost."""
    every = cells()
    with installation() as one, one.serving():
        poster = Poster(one)
        for kind in KINDS:
            poster.post(kind.groups, WARM_UP)
        for _ in rounds(ROUNDS, MOST_S):
            for cell in every:
                with cell.watch.round():
                    cell.rounds.append(poster.post(cell.kind.groups, cell.pace))
        stored = poster.compared()
    return [*(row(cell) for cell in every), stored]


def row(cell: Cell) -> Row:
    """Say what a cell brought: the rate of 202s and how long they took, over all rounds.

    An open loop's rate is of the 202s that came while posts were offered, and its latencies begin when each was due.
    """
    whole = together(cell.rounds)
    if not whole.accepted:
        raise BenchBroken(f"{cell.kind.name}: nothing was answered 202 ({whole.statuses})")
    loop = "open loop" if cell.is_open else f"concurrency {cell.pace.lanes}"
    aims = (Aim(figure="rate", least=cell.kind.per_second), Aim(figure="p99", most=P99_MS))
    return Row(
        bench=NAME,
        what=f"{cell.kind.name}, {loop}",
        figures=(
            *((Figure(name="offered", value=cell.kind.offered, unit="/s"),) if cell.is_open else ()),
            Figure(name="rate", value=whole.in_window / whole.seconds, unit="/s"),
            Figure(name="p50", value=percentile(whole.latencies_ms, 50), unit="ms"),
            Figure(name="p99", value=percentile(whole.latencies_ms, 99), unit="ms"),
        ),
        aims=aims if cell.is_open and cell.kind.has_aim else (),
        surroundings=cell.watch.surroundings,
        note="; ".join(_notes(cell, whole)),
    )


def _notes(cell: Cell, whole: Sent) -> Iterator[str]:
    rates = [one.in_window / one.seconds for one in cell.rounds]
    p99s = [percentile(one.latencies_ms, 99) for one in cell.rounds if one.latencies_ms]
    yield f"{len(rates)} rounds {span(rates)}/s, p99 {span(p99s, 'ms')}"
    if whole.others:
        refused = {status: count for status, count in whole.statuses.items() if status != "202"}
        yield f"not 202: {refused}, unanswered {whole.unanswered}"
    if whole.sent_late:
        yield f"{whole.sent_late:,} of {whole.accepted + whole.others:,} sent late"
    if whole.never_sent:
        yield f"{whole.never_sent:,} never sent"


class Poster:
    """Posts through the client, and keeps what was answered."""

    def __init__(self, one: Installation) -> None:
        self._one = one
        self._starts_at = rfc3339(datetime.now(UTC))
        self._next = 0
        self._watch = Watch()
        self.sent: list[Sent] = []

    def post(self, groups: int, pace: Pace) -> Sent:
        """Post at `pace`: repeats of `groups` groups, or with 0 new ones that nobody has posted."""
        one = self._one
        first, self._next = self._next, self._next + pace.posts
        sent = sent_by_process(
            Plan(
                host=HOST,
                port=one.port,
                path=one.path,
                token=one.token,
                starts_at=self._starts_at,
                first=first,
                groups=groups,
                pace=pace,
            )
        )
        self.sent.append(sent)
        return sent

    def compared(self) -> Row:
        """Wait until nothing is being taken in, then compare the rows with the 202s.

        Raises BenchBroken when a post that was answered 202 has no row: that is no matter of time.
        """
        with self._watch.round():
            until(lambda: self._one.value(_IN_FLIGHT) == 0, "every accept has ended", DRAIN_S)
            found = {receipt for (receipt,) in self._one.rows("select receipt_id from intake_receipt")}
            durable = ", ".join(f"{name} {setting}" for name, setting in self._one.rows(_DURABLE))
        return compared(self.sent, found, self._watch.surroundings, durable)


def compared(sent: Sequence[Sent], found: set[str], surroundings: Surroundings, durable: str) -> Row:
    """Compare the receipts that were answered with those that are `found`. `durable` says what a commit waited for.

    A row without a 202 is a post that was answered otherwise, or not at all, and taken in all the same.
    """
    whole = together(sent)
    answered = set(whole.receipts)
    missing = len(answered - found) + whole.accepted - len(answered)
    extra = len(found - answered)
    if missing or extra > whole.others:
        raise BenchBroken(f"{whole.accepted} were answered 202: {missing} of them have no row, {extra} rows no 202")
    return Row(
        bench=NAME,
        what="rows = 202s, after the last answer",
        figures=(
            Figure(name="rows", value=len(found), unit=""),
            Figure(name="202s", value=whole.accepted, unit=""),
            Figure(name="lost", value=missing, unit=""),
        ),
        aims=(Aim(figure="lost", most=0),),
        surroundings=surroundings,
        note=f"{durable}; {extra} rows without a 202" if extra else durable,
    )
