"""Log lines, and counts of them: arguments in, one bounded request (two over a long time), a page out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from inquest.connectors.loki import paging, shapes
from inquest.connectors.loki.asking import STRAY, elsewhere, has_strays, told, volume_of
from inquest.connectors.loki.config import GUARDED_FROM, MAX_POINTS, QUERY_RANGE, LokiConfig
from inquest.connectors.shared.reading import shaped
from inquest.connectors.shared.series import matrix
from inquest.connectors.shared.strays import Held, held
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.signals import Matrix, Series
from inquest.domain.value import Labels
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.wire.apart import apart
from inquest.wire.ask import Ask, Page
from inquest.wire.logql import LogqlLimits, Scoped, scope
from inquest.wire.read_tool import Arguments

T = TypeVar("T")

_ONE_MS = timedelta(milliseconds=1)
_ONE_SECOND = timedelta(seconds=1)
_LEFT_OUT = failure(
    FailureCode.BUDGET_EXHAUSTED,
    f"more than {paging.MAX_TIES} lines at one nanosecond: some of them may be left out between two pages",
)
_GAPS = "the step is longer than the range of the count: lines between two points may be counted at neither"


class Queries:
    """What the query tool of one integration does."""

    def __init__(self, config: LokiConfig) -> None:
        self._config = config
        self._matchers = config.mandatory_matchers
        self._limits = LogqlLimits(max_reach=config.max_reach)

    def arguments(self, arguments: Arguments, window: Window) -> Arguments:
        """Write the expression in scope; lines have a direction, numbers a step (whole seconds)."""
        scoped = self._scoped(arguments)
        ready: Arguments = {"expression": scoped.expression}
        if not scoped.is_metric:
            return {**ready, "direction": arguments.get("direction", "backward")}
        finest = max(1, math.ceil(window.length / _ONE_SECOND / MAX_POINTS))
        step = arguments.get("step_seconds", max(finest, math.ceil(self._config.step_ms / 1000)))
        if not isinstance(step, int) or step < finest:
            raise InvalidQuery(f"step_seconds: at least {finest} for this time range ({MAX_POINTS} points)")
        return {**ready, "step_seconds": step}

    def _scoped(self, arguments: Arguments) -> Scoped:
        return scope(str(arguments["expression"]), self._matchers, self._limits)

    async def read(self, ask: Ask) -> Page | Failure:
        """Read lines, or count them; over a long time only after the index has said how much that reads."""
        scoped = self._scoped(ask.query.arguments)
        if scoped.elsewhere:
            return elsewhere(scoped)
        refused = await self._too_much(ask, scoped)
        if refused is not None:
            return refused
        return await (self._numbers(ask, scoped) if scoped.is_metric else self._lines(ask, scoped))

    async def _too_much(self, ask: Ask, scoped: Scoped) -> Failure | None:
        """Ask the index how many bytes the query would read. A later page was let through with its first.

        A Loki without that index cannot be asked, and is trusted to keep its own limits.
        """
        window = ask.query.time_range
        if ask.cursor is not None or window.length + scoped.reach <= GUARDED_FROM:
            return None
        found = await volume_of(ask, scoped.selector, Window(start=window.start - scoped.reach, end=window.end))
        if found is None or isinstance(found, Failure):
            return found
        if found.bytes <= self._config.max_scan_bytes:
            return None
        return failure(
            FailureCode.BUDGET_EXHAUSTED,
            f"time_range: the query would read {_mebibytes(found.bytes)} of log lines, "
            f"{_mebibytes(self._config.max_scan_bytes)} are allowed; narrow the time range or the selector",
        )

    async def _lines(self, ask: Ask, scoped: Scoped) -> Page | Failure:
        forward = ask.query.arguments["direction"] == "forward"
        turn = _turn(ask, forward=forward)
        if isinstance(turn, Failure):
            return turn
        pairs = [
            ("query", scoped.expression),
            ("start", str(turn.start_ns)),
            ("end", str(turn.end_ns)),
            ("limit", str(turn.limit)),
            ("direction", "forward" if forward else "backward"),
        ]
        answer = await told(ask, QUERY_RANGE, pairs)
        if isinstance(answer, Failure):
            return answer
        cut = await shaped(lambda: paging.cut(turn, shapes.entries(answer.data, forward=forward)))
        if isinstance(cut, Failure):
            return cut
        ours = await apart(self._ours, cut.entries, lambda one: one.labels, scoped)
        if isinstance(ours, Failure):
            return ours
        return Page(
            shapes.logs(ours.kept),
            scoped.expression,
            next=None if cut.following is None else cut.following.write(),
            error=ours.why or answer.partial or (_LEFT_OUT if cut.left_out else None),
        )

    def _ours(self, found: Sequence[T], labels_of: Callable[[T], Labels], scoped: Scoped) -> Held[T] | Failure:
        """Hold an answer against what was selected; a failure where none of it was."""
        if has_strays(map(labels_of, found), self._matchers):
            return STRAY
        ours = held(found, labels_of, scoped.bounds)
        return ours.why if ours.why is not None and not ours.kept else ours

    async def _numbers(self, ask: Ask, scoped: Scoped) -> Page | Failure:
        window = ask.query.time_range
        step = timedelta(seconds=int(str(ask.query.arguments["step_seconds"])))
        last = max(window.start, window.end - _ONE_MS)  # the end of the API is inclusive for numbers
        pairs = [
            ("query", scoped.expression),
            ("start", str(shapes.since_1970_ns(window.start))),
            ("end", str(shapes.since_1970_ns(last))),
            ("step", str(step // _ONE_SECOND)),
        ]
        answer = await told(ask, QUERY_RANGE, pairs)
        if isinstance(answer, Failure):
            return answer
        warnings = answer.warnings if step <= scoped.reach else (*answer.warnings, _GAPS)
        found = await shaped(lambda: matrix(answer.data, step // _ONE_MS, warnings)[0])
        if isinstance(found, Failure):
            return found
        ours = await apart(self._ours, found.series, lambda one: one.labels, scoped)
        if isinstance(ours, Failure):
            return ours
        return Page(_in_order(found, ours.kept), scoped.expression, error=ours.why or answer.partial)


def _turn(ask: Ask, *, forward: bool) -> paging.Turn | Failure:
    border = None if ask.cursor is None else paging.Border.read(ask.cursor)
    if ask.cursor is not None and border is None:
        return failure(FailureCode.INVALID_QUERY, "cursor: not one that was given for this query")
    window = ask.query.time_range
    start, end = shapes.since_1970_ns(window.start), shapes.since_1970_ns(window.end)
    return paging.turn(start, end, lines=ask.query.budget.max_items, forward=forward, border=border)


def _in_order(found: Matrix, series: Sequence[Series]) -> Matrix:
    """Give `found` with these series, in the order of their labels: Loki has none, and a digest is of one."""
    return found.but(series=tuple(sorted(series, key=lambda one: sorted(one.labels.items()))))


def _mebibytes(size: int) -> str:
    return f"{size / 1024**2:,.0f} MiB"
