"""Answers held against the scope of the integration.

PromQL is scoped by its matchers. Rules, alerts and metadata take no matcher, so what they bring is held
against the same labels here; and a series that names another value than the pinned one is a sign that the
source does not keep its tenants apart: its whole answer is refused. A series that the expression does not
select, of whatever label, is left out, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from inquest.connectors.prometheus import shapes
from inquest.connectors.prometheus.asking import told
from inquest.connectors.prometheus.config import API
from inquest.connectors.shared.asking import Pairs
from inquest.connectors.shared.reading import shaped
from inquest.connectors.shared.strays import held
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.selector import selector
from inquest.domain.signals import FiringAlert, Matrix, Rule, SeriesNames, SignalContent, Vector
from inquest.domain.value import Labels
from inquest.ports import InvalidQuery
from inquest.wire.ask import Ask
from inquest.wire.matching import Bounds
from inquest.wire.promql import scope

STRAY = failure(FailureCode.CONTEXT_MISMATCH, "the answer holds series of another scope")


def has_strays(content: SignalContent, matchers: Labels) -> bool:
    """Say whether a series of `content` carries a mandatory label with another value."""
    match content:
        case Matrix(series=found):
            sets: Iterable[Labels] = (one.labels for one in found)
        case Vector(samples=samples):
            sets = (one.labels for one in samples)
        case SeriesNames(series=label_sets):
            sets = label_sets
        case _:
            sets = ()
    return any(elsewhere(labels, matchers) for labels in sets)


def without_strays(content: SignalContent, bounds: Bounds | None) -> tuple[SignalContent, Failure | None] | Failure:
    """Leave out the series that the expression does not select, and say so; a failure where none is left."""
    ours: dict[str, tuple[object, ...]]
    match content:
        case Matrix(series=found):
            series = held(found, lambda one: one.labels, bounds)
            why, ours = series.why, {"series": series.kept}
        case Vector(samples=samples):
            values = held(samples, lambda one: one.labels, bounds)
            why, ours = values.why, {"samples": values.kept}
        case SeriesNames(series=label_sets):
            sets = held(label_sets, lambda one: one, bounds)
            why, ours = sets.why, {"series": sets.kept}
        case _:
            return content, None
    if why is None:
        return content, None
    if not any(ours.values()):
        return why
    kept = content.but(**ours)
    if isinstance(kept, Vector):
        kept = kept.but(non_finite=sum(one.value is None for one in kept.samples))
    return kept, why


def elsewhere(labels: Labels, matchers: Labels) -> bool:
    """Say whether `labels` name another value for a mandatory label; an absent one says nothing."""
    return any(labels.get(name, value) != value for name, value in matchers.items())


def rules_in_scope(rules: Iterable[Rule], matchers: Labels) -> tuple[Rule, ...]:
    """Keep the rules that are not for another scope, by their labels and by the selectors they read.

    A rule that names no scope is a definition that all share. One whose expression we cannot read is kept
    only when its own labels carry the scope.
    """
    return tuple(rule for rule in rules if not matchers or _is_ours(rule, matchers))


def _is_ours(rule: Rule, matchers: Labels) -> bool:
    if elsewhere(rule.labels, matchers):
        return False
    try:
        return not scope(rule.expression, matchers).elsewhere
    except InvalidQuery:
        return all(rule.labels.get(name) == value for name, value in matchers.items())


def alerts_in_scope(alerts: Iterable[FiringAlert], matchers: Labels) -> tuple[tuple[FiringAlert, ...], int]:
    """Keep the alerts that carry the scope; count those that carry no scope at all and so may be anybody's."""
    kept, unlabelled = [], 0
    for alert in alerts:
        if all(alert.labels.get(name) == value for name, value in matchers.items()):
            kept.append(alert)
        elif not elsewhere(alert.labels, matchers):
            unlabelled += 1
    return tuple(kept), unlabelled


async def names_in_scope(ask: Ask, matchers: Labels, times: Pairs) -> frozenset[str] | Failure | None:
    """Ask which metric names the scope has; None, and nothing asked, where there is no scope."""
    if not matchers:
        return None
    answer = await told(ask, (*API, "label", "__name__", "values"), [("match[]", selector(matchers)), *times])
    if isinstance(answer, Failure):
        return answer
    return await shaped(lambda: frozenset(shapes.names(answer.data)))
