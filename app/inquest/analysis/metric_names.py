"""Which metrics an expression reads: what makes two queries the same source of truth."""

from __future__ import annotations

import re

import promql_parser

MAX_EXPRESSION_CHARS = 8_192
_STRINGS_AND_SELECTORS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`|\{[^{}]*\}|\[[^\]]*\]')
_IDENTIFIER = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")


def metric_names(expression: str) -> frozenset[str]:
    """Give the names of the metrics that `expression` reads.

    Other languages than PromQL (and PromQL that does not parse) give the identifiers outside of strings,
    selectors and ranges: more names than there are metrics, so that two such queries are rather taken for
    one source than for two.
    """
    if not expression or len(expression) > MAX_EXPRESSION_CHARS:
        return frozenset()
    try:
        tree = promql_parser.parse(expression)
    except ValueError:
        return frozenset(_IDENTIFIER.findall(_STRINGS_AND_SELECTORS.sub(" ", expression)))
    return _names_in(tree)


def _names_in(tree: promql_parser.Expr) -> frozenset[str]:
    found: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        selector = node.vector_selector if isinstance(node, promql_parser.MatrixSelector) else node
        if isinstance(selector, promql_parser.VectorSelector):
            found.update(_names_of(selector))

    promql_parser.walk(tree, pre_visit=visit)
    return frozenset(found)


def _names_of(selector: promql_parser.VectorSelector) -> list[str]:
    if selector.name:
        return [selector.name]
    return [matcher.value for matcher in selector.matchers.matchers if matcher.name == "__name__"]
