"""What the series of an answer may be called, by the selectors that were asked for.

A source that ignores a matcher, or lies, brings series of another service or tenant. Where it can be told from
the expression which labels a series must carry, each one is held against that; where it cannot, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from inquest.domain.value import Labels
from inquest.wire.patterns import BadPattern, pattern

NAME = "__name__"
MAY_BE_ABSENT = frozenset({NAME, "replica", "prometheus_replica", "rule_replica", "thanos_replica", "__replica__"})
"""Labels that sources select by and then may take off (Thanos and Mimir, of replicas): absence says nothing."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition of a selector; =~ and !~ match the whole value (RE2). An absent label is the empty value."""

    name: str
    operator: str
    value: str

    def admits(self, labels: Labels) -> bool:
        """Say whether a series with `labels` fits. Raises BadPattern."""
        if self.name in MAY_BE_ABSENT and self.name not in labels:
            return True
        found = labels.get(self.name, "")
        match self.operator:
            case "=":
                return found == self.value
            case "!=":
                return found != self.value
            case "=~":
                return pattern(self.value).spans(found)
            case _:
                return not pattern(self.value).spans(found)


@dataclass(frozen=True, slots=True)
class Bound:
    """What one kind of series of an answer carries: labels that fit `matchers`, and none but `only` (None: any).

    The metric name may be there or not: sources differ in when they drop it.
    """

    matchers: tuple[Matcher, ...] = ()
    only: frozenset[str] | None = None

    def admits(self, labels: Labels) -> bool:
        """Say whether a series with `labels` can be one of this kind. Raises BadPattern."""
        if self.only is not None and not labels.keys() <= self.only | {NAME}:
            return False
        return all(one.admits(labels) for one in self.matchers)

    def without(self, names: Iterable[str]) -> Bound:
        """Give the bound once the labels `names` are dropped, or of values that nobody can tell."""
        gone = frozenset(names)
        return replace(self, matchers=tuple(one for one in self.matchers if one.name not in gone))

    def keeping(self, names: Iterable[str]) -> Bound:
        """Give the bound once no label but `names` is left."""
        kept = frozenset(names)
        return Bound(
            matchers=tuple(one for one in self.matchers if one.name in kept),
            only=kept if self.only is None else self.only & kept,
        )

    def writing(self, names: Iterable[str]) -> Bound:
        """Give the bound once the expression itself has written the labels `names`."""
        written = frozenset(names)
        return replace(self.without(written), only=None if self.only is None else self.only | written)


Bounds = tuple[Bound, ...]
"""A series of the answer fits one of them."""
UNLABELLED: Bounds = (Bound(only=frozenset()),)


def decidable(bounds: Bounds) -> Bounds | None:
    """Give `bounds`, None where one of their patterns is none that RE2 reads: then nobody can tell."""
    try:
        for matcher in (matcher for one in bounds for matcher in one.matchers):
            if matcher.operator in {"=~", "!~"}:
                pattern(matcher.value)
    except BadPattern:
        return None
    return bounds


def is_stray(labels: Labels, bounds: Bounds) -> bool:
    """Say whether a series with `labels` is none that was asked for."""
    return not any(one.admits(labels) for one in bounds)


def asked_labels(bounds: Bounds) -> tuple[str, ...]:
    """Name the labels that a series is held against, in order."""
    return tuple(sorted({one.name for bound in bounds for one in bound.matchers}))
