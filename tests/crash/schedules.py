"""What happens in one run, drawn from its seed alone: the same seed, the same schedule."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from inquest.crash import CrashAt, CrashPoint, Ending

SCHEDULES = 20
WHOLE = 10
"""With so many schedules, what is beside the kills is done at every point."""
MAX_ALERTS = 3
SECOND_KILL_SHARE = 0.3
TWICE_WRITTEN_SHARE = 0.25
POSTGRES_POINTS = (CrashPoint.C03, CrashPoint.C13, CrashPoint.C16)


class Blow(StrEnum):
    """What happens to the process that comes to the point."""

    KILL = "kill -9"
    ZOMBIE = "stopped past its lease, continued when others have ended"
    DRAIN = "SIGTERM"
    POSTGRES = "Postgres is killed under it"


@dataclass(frozen=True)
class About:
    """A point as the matrix knows it: who comes there, and how often at least for one alert.

    `held` is what a vendor does not answer until the blow, so that the point is come to in the middle of it.
    `first_only`: a second passing is not certain. Behind the end of a run (C17) the lease's thread may have seen already
    that the lease is gone.
    """

    who: Literal["service", "worker"]
    passings: int
    held: Literal["", "model", "notes"] = ""
    is_sending: bool = False
    first_only: bool = False


_P = CrashPoint
POINTS: dict[CrashPoint, About] = {
    _P.C01: About("service", 1),
    _P.C02: About("service", 1),
    _P.C03: About("service", 1),
    _P.C04: About("service", 1),
    _P.C05: About("service", 1),
    _P.C06: About("worker", 1),
    _P.C07: About("worker", 5),
    _P.C08: About("worker", 4),
    _P.C09: About("worker", 3),
    _P.C10: About("worker", 2),
    _P.C11: About("worker", 3),
    _P.C12: About("worker", 5),
    _P.C13: About("worker", 2),
    _P.C14: About("worker", 1),
    _P.C15: About("worker", 1),
    _P.C16: About("worker", 1),
    _P.C17: About("worker", 1, first_only=True),
    _P.C18: About("worker", 4, is_sending=True),
    _P.C19: About("worker", 3, is_sending=True),
    _P.C20: About("worker", 4, is_sending=True),
    _P.C21: About("worker", 2, held="notes", is_sending=True),
    _P.C22: About("worker", 1, is_sending=True),
    _P.C23: About("worker", 1, held="model", first_only=True),
    _P.C24: About("worker", 1, held="model", first_only=True),
}
RECOVERING = (_P.C06, _P.C07, _P.C08, _P.C09, _P.C10, _P.C12, _P.C13, _P.C15, _P.C16, _P.C18, _P.C19, _P.C20)
"""Where a second kill falls, in a worker that has taken over."""
RECOVERING_SERVICE = (_P.C01, _P.C02, _P.C03, _P.C04, _P.C05)


@dataclass(frozen=True)
class Schedule:
    """One run."""

    point: CrashPoint
    number: int
    seed: int
    blow: Blow
    passing: int
    alerts: int
    severities: tuple[str, ...]
    peer: bool
    """Whether another process of the kind runs already; else one is started after the blow."""
    second: CrashAt | None
    """Where whoever takes over is killed too, if it comes there."""
    written_twice: bool
    """Whether each write of a journal reaches the database a second time, as after an answer that got lost."""

    @property
    def name(self) -> str:
        """Give what to type for this run alone."""
        return f"{self.point.name}/{self.number}" + ("" if self.blow is Blow.KILL else f"/{self.blow.name.lower()}")

    @property
    def at(self) -> CrashAt:
        """Give what the process is armed with: for anything but a kill it stands still there first."""
        return CrashAt(self.point, self.passing, Ending.KILL if self.blow is Blow.KILL else Ending.STOP)

    def words(self) -> str:
        """Say it in a line."""
        more = [
            f"{self.alerts} alerts",
            "a peer" if self.peer else "a restart",
            *([] if self.second is None else [f"again at {self.second.point.name}"]),
            *(["every write twice"] if self.written_twice else []),
        ]
        return f"{self.name}: {self.blow} at passing {self.passing}, {', '.join(more)}"


def schedule(point: CrashPoint, number: int, seed: int, blow: Blow = Blow.KILL) -> Schedule:
    """Draw run `number` at `point` of the matrix with `seed`."""
    chance = random.Random(f"{seed}/{point.name}/{number}/{blow.name}")  # noqa: S311  # a seed's, on purpose
    about = POINTS[point]
    alerts = chance.randint(1, MAX_ALERTS)
    peer = blow is Blow.ZOMBIE or chance.random() < 0.5
    most = about.passings * alerts
    if peer and about.who == "worker":
        most = max(1, most // 2)  # some of it may be the peer's to do
    second = None
    if blow is Blow.KILL and chance.random() < SECOND_KILL_SHARE:
        second = CrashAt(chance.choice(RECOVERING if about.who == "worker" else RECOVERING_SERVICE))
    return Schedule(
        point=point,
        number=number,
        seed=seed,
        blow=blow,
        passing=chance.randint(1, 1 if about.first_only else most),
        alerts=alerts,
        severities=tuple(chance.choice(("critical", "warning", "info")) for _ in range(alerts)),
        peer=peer,
        second=second,
        written_twice=chance.random() < TWICE_WRITTEN_SHARE,
    )


def kills(seed: int, schedules: int) -> list[Schedule]:
    """Give the matrix itself: `schedules` kills at each point."""
    return [schedule(point, number, seed) for number in range(1, schedules + 1) for point in POINTS]


def beside(seed: int, schedules: int) -> list[Schedule]:
    """Give what is done beside: zombies at each point, drains in workers, restarts of Postgres at three points.

    Of each kind one for every ten schedules. Fewer than ten have zombies and drains at every third point: which third
    is the seed's.
    """
    rounds = range(1, (schedules + 9) // 10 + 1)
    zombies = list(POINTS) if schedules >= WHOLE else list(POINTS)[seed % 3 :: 3]
    drains = [point for point in zombies if POINTS[point].who == "worker" and point is not CrashPoint.C24]
    return [
        *(schedule(point, number, seed, Blow.POSTGRES) for number in rounds for point in POSTGRES_POINTS),
        *(schedule(point, number, seed, Blow.ZOMBIE) for number in rounds for point in zombies),
        *(schedule(point, number, seed, Blow.DRAIN) for number in rounds for point in drains),
    ]


def named(name: str, seed: int) -> Schedule:
    """Give the run that `Schedule.name` names."""
    point, number, *blow = name.split("/")
    return schedule(CrashPoint[point], int(number), seed, Blow[blow[0].upper()] if blow else Blow.KILL)
