"""Which labels the streams and series of an expression's answer must carry, read off its tree.

No stage that is taken changes a label of the stream: a field that a parser finds under a taken name gets another.
"""

from __future__ import annotations

from typing import assert_never

from inquest.wire.logql.syntax import KEEPS_MOST, Count, Expression, LogQuery, Summary
from inquest.wire.matching import Bound, Bounds, decidable


def bounds_of(tree: Expression) -> Bounds | None:
    """Give what a stream or series of the answer fits; None where it cannot be told."""
    return decidable((_of(tree),))


def _of(tree: Expression) -> Bound:
    match tree:
        case LogQuery(matchers=matchers):
            return Bound(matchers)
        case Count(query=query):
            return _of(query)
        case Summary(function=function, operand=operand, grouping=grouping):
            inner = _of(operand)
            if function in KEEPS_MOST:
                return inner
            if grouping is None:
                return inner.keeping(())
            return inner.without(grouping.labels) if grouping.without else inner.keeping(grouping.labels)
        case unknown:
            assert_never(unknown)
