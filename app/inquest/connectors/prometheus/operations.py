"""The operations: arguments in, one bounded request (or two), a page out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from inquest.connectors.prometheus import shapes
from inquest.connectors.prometheus.asking import (
    label_in_path,
    page,
    seconds,
    timeout,
    times,
    told,
)
from inquest.connectors.prometheus.config import API, LABELS, MAX_POINTS, QUERY, QUERY_RANGE, SERIES, PrometheusConfig
from inquest.connectors.prometheus.tenancy import (
    STRAY,
    alerts_in_scope,
    has_strays,
    names_in_scope,
    rules_in_scope,
    without_strays,
)
from inquest.connectors.shared.asking import Pairs, holds
from inquest.connectors.shared.reading import shaped
from inquest.connectors.shared.series import matrix
from inquest.connectors.shared.strays import UNHELD
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.selector import selector
from inquest.domain.signals import FiringAlerts, Names, Rules, SignalContent
from inquest.domain.value import Json, epoch_ms
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.wire.apart import apart
from inquest.wire.ask import Ask, Page
from inquest.wire.promql import PromqlLimits, Scoped, scope, scope_selector
from inquest.wire.read_tool import Arguments
from inquest.wire.transport import Segments

Values = Callable[[Json, tuple[str, ...]], tuple[SignalContent, bool]]

_ONE_MS = timedelta(milliseconds=1)
_HISTOGRAMS = failure(FailureCode.SCHEMA_DRIFT, "native histograms are left out; use histogram_quantile() over them")


class Operations:
    """What the tools of one integration do."""

    def __init__(self, config: PrometheusConfig) -> None:
        self._config = config
        self._matchers = config.mandatory_matchers
        self._limits = PromqlLimits(max_reach=config.max_reach)

    # ---- arguments: pure, and applying one again changes nothing

    def instant_arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Write the expression in scope."""
        return {**arguments, "expression": self._expression(arguments).expression}

    def range_arguments(self, arguments: Arguments, window: Window) -> Arguments:
        """Write the expression in scope, and fill or check the step (whole seconds)."""
        finest = max(1, math.ceil(window.length / timedelta(seconds=1) / MAX_POINTS))
        step = arguments.get("step_seconds", max(finest, math.ceil(self._config.step_ms / 1000)))
        if not isinstance(step, int) or step < finest:
            raise InvalidQuery(f"step_seconds: at least {finest} for this time range ({MAX_POINTS} points)")
        return {**arguments, "expression": self._expression(arguments).expression, "step_seconds": step}

    def selector_arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Write the selector in scope, where there is one."""
        if "selector" not in arguments:
            return arguments
        return {**arguments, "selector": self._selector(arguments).expression}

    def search_arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Take them as they are."""
        return arguments

    def _expression(self, arguments: Arguments) -> Scoped:
        found = scope(str(arguments["expression"]), self._matchers, self._limits)
        if found.is_range:
            raise InvalidQuery("expression: is a range of raw samples; put a function such as rate() around it")
        return found

    def _selector(self, arguments: Arguments) -> Scoped:
        return scope_selector(str(arguments["selector"]), self._matchers, self._limits)

    # ---- values

    async def instant(self, ask: Ask) -> Page | Failure:
        """Evaluate at the end of the time range."""
        scoped = self._expression(ask.query.arguments)
        pairs = [("query", scoped.expression), ("time", seconds(ask.query.time_range.end)), timeout(ask)]
        return await self._values(ask, QUERY, pairs, scoped, shapes.vector)

    async def over_time(self, ask: Ask) -> Page | Failure:
        """Evaluate at each step of [start, end)."""
        scoped, window = self._expression(ask.query.arguments), ask.query.time_range
        step_ms = int(str(ask.query.arguments["step_seconds"])) * 1000
        last = max(window.start, window.end - _ONE_MS)  # the end of the API is inclusive
        pairs = [
            ("query", scoped.expression),
            ("start", seconds(window.start)),
            ("end", seconds(last)),
            ("step", str(step_ms // 1000)),
            timeout(ask),
        ]
        return await self._values(ask, QUERY_RANGE, pairs, scoped, lambda data, said: matrix(data, step_ms, said))

    async def _values(self, ask: Ask, path: Segments, pairs: Pairs, scoped: Scoped, read: Values) -> Page | Failure:
        if scoped.elsewhere:
            return _elsewhere(scoped)
        answer = await told(ask, path, pairs)
        if isinstance(answer, Failure):
            return answer
        warnings = answer.warnings if scoped.bounds is not None else (*answer.warnings, UNHELD)
        found = await shaped(lambda: self._held(read(answer.data, warnings), scoped))
        if isinstance(found, Failure):
            return found
        content, missing = found
        return Page(content, scoped.expression, error=missing or answer.partial)

    def _held(
        self, answered: tuple[SignalContent, bool], scoped: Scoped
    ) -> tuple[SignalContent, Failure | None] | Failure:
        """Hold an answer against what was selected; give what was, and why that is not all of it."""
        content, histograms = answered
        if has_strays(content, self._matchers):
            return STRAY
        ours = without_strays(content, scoped.bounds)
        if isinstance(ours, Failure):
            return ours
        kept, strays = ours
        return kept, strays or (_HISTOGRAMS if histograms else None)

    # ---- names

    async def series(self, ask: Ask) -> Page | Failure:
        """List label sets."""
        scoped = self._selector(ask.query.arguments)
        if scoped.elsewhere:
            return _elsewhere(scoped)
        found = await page(ask, SERIES, [("match[]", scoped.expression), *times(ask)], shapes.label_sets)
        if isinstance(found, Failure):
            return found
        ours = await apart(self._held, (found.content, False), scoped)
        return ours if isinstance(ours, Failure) else replace(found, content=ours[0], error=ours[1] or found.error)

    async def labels(self, ask: Ask) -> Page | Failure:
        """List label names, or the values of one."""
        arguments, pairs = ask.query.arguments, times(ask)
        if "selector" in arguments:
            scoped = self._selector(arguments)
            if scoped.elsewhere:
                return _elsewhere(scoped)
            pairs = [("match[]", scoped.expression), *pairs]
        elif self._matchers:
            pairs = [("match[]", selector(self._matchers)), *pairs]
        label, search = arguments.get("label"), str(arguments.get("search", ""))
        path = LABELS if label is None else (*API, "label", label_in_path(str(label)), "values")
        return await page(
            ask, path, pairs, lambda data: Names(names=tuple(one for one in shapes.names(data) if holds(search, [one])))
        )

    async def metadata(self, ask: Ask) -> Page | Failure:
        """Search metrics by name and help. Metadata knows no scope, so its names are held against the scope's."""
        search = str(ask.query.arguments.get("search", ""))
        inside = await names_in_scope(ask, self._matchers, times(ask))
        if isinstance(inside, Failure):
            return inside

        def read(data: Json) -> Names:
            about = {
                name: said
                for name, said in sorted(shapes.metadata(data).items())
                if (inside is None or name in inside) and holds(search, (name, said))
            }
            return Names(names=tuple(about), about=about)

        return await page(ask, (*API, "metadata"), [], read)

    # ---- rules and alerts

    async def rules(self, ask: Ask) -> Page | Failure:
        """List rules, less those of another scope."""
        search = str(ask.query.arguments.get("search", ""))

        def read(data: Json) -> Rules:
            ours = rules_in_scope(shapes.rules(data).rules, self._matchers)
            return Rules(rules=tuple(rule for rule in ours if holds(search, (rule.name, rule.expression))))

        return await page(ask, (*API, "rules"), [], read)

    async def alerts(self, ask: Ask) -> Page | Failure:
        """List the alerts that began before the end of the time range, less those that may be another scope's."""
        search, end = str(ask.query.arguments.get("search", "")), epoch_ms(ask.query.time_range.end)
        found = await page(ask, (*API, "alerts"), [], shapes.alerts)
        if isinstance(found, Failure) or not isinstance(found.content, FiringAlerts):
            return found
        ours, unlabelled = alerts_in_scope(found.content.alerts, self._matchers)
        begun = [one for one in ours if one.active_at is None or one.active_at < end]
        kept = [one for one in begun if holds(search, (*one.labels.values(), *one.annotations.values()))]
        missing = None
        if unlabelled:
            names = ", ".join(sorted(self._matchers))
            missing = failure(FailureCode.CAPABILITY_DENIED, f"{unlabelled} alerts carry no {names} and are left out")
        return replace(found, content=FiringAlerts(alerts=tuple(kept)), error=found.error or missing)


def _elsewhere(scoped: Scoped) -> Failure:
    return failure(FailureCode.CONTEXT_MISMATCH, f"{', '.join(scoped.elsewhere)}: this integration reads another value")
