"""What the service calls, as far as it was looked at: whether it got worse, and which change may be behind that.

That a dependency is used more is what its callers do to it. It is in trouble when they would feel it: it answers
late, it answers with errors, or a resource of its own is used up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role
from inquest.investigators.analyst.question import dependency_matchers
from inquest.investigators.analyst.signs import Saturation, Sign, saturations, signs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.value import Labels
    from inquest.domain.window import IncidentWindow
    from inquest.investigators.analyst.exhibit import Exhibit
    from inquest.ports import LoopView

TELLING = (Role.SATURATION, Role.LIMIT, Role.LARGEST_LIMIT, Role.ERRORS, Role.TRAFFIC, Role.LATENCY)
"""What is asked about a dependency."""
MAX_SIGNS = 8
"""Metrics of one dependency that are asked."""
LATE = 2.0
"""A dependency answers late when it takes so many times as long as usual (engineering judgement)."""
FAILING_SHARE = 0.01
"""It fails when more than this share of its answers are errors; fewer are a usual day (engineering judgement). Of
errors alone, without how much was answered, nobody can tell."""


class Trouble(NamedTuple):
    """A sign that a dependency got worse, as of `at_ms`; `saturation` where it is a resource that was used up."""

    sign: Sign
    at_ms: int
    saturation: Saturation | None = None


class Dependency(NamedTuple):
    """A service that this one calls. `signs` is empty when nothing of it was seen."""

    name: str
    namespace: str
    signs: tuple[Sign, ...]
    troubles: tuple[Trouble, ...]
    """First one first."""

    def trouble(self, latest_ms: int) -> Trouble | None:
        """Give what went wrong first, if that was at `latest_ms` or before."""
        return next((one for one in self.troubles if one.at_ms <= latest_ms), None)


def look_at_dependencies(view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow) -> tuple[Dependency, ...]:
    """Give what was seen of each dependency whose labels are known."""
    return tuple(
        _dependency(name, matchers, signs_of(view, shown, window, matchers, _shown_name(name, matchers)))
        for name, matchers in dependency_matchers(view).items()
    )


def _shown_name(name: str, matchers: Labels) -> str:
    """Give the name under which its metrics know it: a claim may use no other."""
    return name if name in matchers.values() else ", ".join(matchers.values())


def _dependency(name: str, matchers: Labels, signs: tuple[Sign, ...]) -> Dependency:
    full = [Trouble(one.used, one.at_ms, one) for one in saturations(signs)]
    # By its first departure: on the way to a limit what is full is further ahead than what fills it.
    felt = [Trouble(sign, sign.onset_ms) for sign in signs if sign.onset_ms is not None and _is_felt(sign, signs)]
    troubles = tuple(sorted([*full, *felt], key=lambda one: one.at_ms))
    return Dependency(name, matchers.get("namespace", ""), signs, troubles)


def _is_felt(sign: Sign, signs: Sequence[Sign]) -> bool:
    if sign.course.onset is None or not sign.is_up:
        return False
    match sign.role:
        case Role.LATENCY:
            return sign.factor >= LATE
        case Role.ERRORS:
            answered = [one.course.onset.before if one.course.onset else _middle(one) for one in signs
                        if one.role is Role.TRAFFIC]  # fmt: skip
            return bool(answered) and sign.course.onset.extreme > FAILING_SHARE * max(answered)
        case _:
            return False


def _middle(sign: Sign) -> float:
    values = sorted(value for _, value in sign.course.baseline if value is not None)
    return values[len(values) // 2] if values else 0.0
