"""Names of labels and their values, and what a selector covers."""

from __future__ import annotations

from inquest.connectors.loki import shapes
from inquest.connectors.loki.asking import STRAY, elsewhere, has_strays, times, told, volume_of
from inquest.connectors.loki.config import API, LABEL_NAME, LABELS, SERIES, STATS, LokiConfig
from inquest.connectors.shared.asking import holds, written
from inquest.connectors.shared.reading import shaped, texts
from inquest.connectors.shared.strays import held
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.selector import selector
from inquest.domain.signals import Names
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.wire.ask import Ask, Page
from inquest.wire.logql import Scoped, scope_selector
from inquest.wire.read_tool import Arguments


class Lookups:
    """What the label and volume tools of one integration do."""

    def __init__(self, config: LokiConfig) -> None:
        self._matchers = config.mandatory_matchers

    def labels_arguments(self, arguments: Arguments, window: Window) -> Arguments:
        """Check the label's name, and write the selector in scope where there is one."""
        if "label" in arguments and not LABEL_NAME.match(str(arguments["label"])):
            raise InvalidQuery("label: write a label name: letters, digits and _")
        return self.volume_arguments(arguments, window) if "selector" in arguments else arguments

    def volume_arguments(self, arguments: Arguments, _: Window) -> Arguments:
        """Write the selector in scope."""
        return {**arguments, "selector": self._scoped(arguments).expression}

    def _scoped(self, arguments: Arguments) -> Scoped:
        return scope_selector(str(arguments["selector"]), self._matchers)

    async def labels(self, ask: Ask) -> Page | Failure:
        """List label names, or the values of one."""
        if "selector" in ask.query.arguments:
            scoped = self._scoped(ask.query.arguments)
            return elsewhere(scoped) if scoped.elsewhere else await self._labels_of(ask, scoped)
        if not self._matchers:
            return await self._all_labels(ask)
        return await self._labels_of(ask, scope_selector(selector(self._matchers), self._matchers))

    async def _all_labels(self, ask: Ask) -> Page | Failure:
        label = ask.query.arguments.get("label")
        path = LABELS if label is None else (*API, "label", str(label), "values")
        pairs = times(ask.query.time_range)
        answer = await told(ask, path, pairs)
        if isinstance(answer, Failure):
            return answer
        found = await shaped(lambda: _sought(ask, texts(answer.data, "data")))
        return found if isinstance(found, Failure) else Page(found, written(path, pairs), error=answer.partial)

    async def _labels_of(self, ask: Ask, scoped: Scoped) -> Page | Failure:
        """Take the names from the label sets of the streams that `scoped` selects.

        A label look-up takes a selector too, but older releases of Loki do not look at it.
        """
        pairs = [("match[]", scoped.expression), *times(ask.query.time_range)]
        answer = await told(ask, SERIES, pairs)
        if isinstance(answer, Failure):
            return answer
        sets = await shaped(lambda: shapes.label_sets(answer.data))
        if isinstance(sets, Failure):
            return sets
        if has_strays(sets, self._matchers):
            return STRAY
        ours = held(sets, lambda one: one, scoped.bounds)
        if ours.why is not None and not ours.kept:
            return ours.why
        label = ask.query.arguments.get("label")
        every = ours.kept
        found = {name for one in every for name in one} if label is None else {one.get(str(label), "") for one in every}
        return Page(_sought(ask, found - {""}), written(SERIES, pairs), error=ours.why or answer.partial)

    async def volume(self, ask: Ask) -> Page | Failure:
        """Count what a selector covers."""
        scoped = self._scoped(ask.query.arguments)
        if scoped.elsewhere:
            return elsewhere(scoped)
        found = await volume_of(ask, scoped.expression, ask.query.time_range)
        if found is None:
            return failure(FailureCode.SCHEMA_DRIFT, "this Loki has no index/stats")
        if isinstance(found, Failure):
            return found
        return Page(found, written(STATS, [("query", scoped.expression), *times(ask.query.time_range)]))


def _sought(ask: Ask, names: set[str] | tuple[str, ...]) -> Names:
    search = str(ask.query.arguments.get("search", ""))
    return Names(names=tuple(one for one in sorted(names) if holds(search, [one])))
