"""What an alert's expression measures: the expression without the comparison that makes it fire."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import promql_parser

MAX_EXPRESSION_CHARS = 8_192
_COMPARISONS = frozenset({"==", "!=", ">", "<", ">=", "<="})
_SETS = frozenset({"and", "or", "unless"})


def expression_of(generator_url: str) -> str:
    """Give the PromQL in a Prometheus generator URL (`...?g0.expr=...`), "" where there is none.

    The URL is untrusted text: nothing is fetched, and what is not PromQL gives "".
    """
    if len(generator_url) > MAX_EXPRESSION_CHARS:
        return ""
    try:
        found = parse_qs(urlsplit(generator_url).query, max_num_fields=32).get("g0.expr", [""])[0]
    except ValueError:
        return ""
    return found if _parse(found) is not None else ""


def measured_by(expression: str) -> str:
    """Give the part of an alert's `expression` whose course over time shows the trouble.

    `errors / total > 0.05` measures `errors / total`: over a window the comparison would hide every
    sample below the threshold, and with them the baseline. Of `a > 1 and b > 2` the left side counts. What
    cannot be parsed is given back as it is: the source will say what is wrong with it.
    """
    node = _parse(expression)
    return expression if node is None else _measured(node).prettify()


def _parse(expression: str) -> promql_parser.Expr | None:
    if not expression or len(expression) > MAX_EXPRESSION_CHARS:
        return None
    try:
        return promql_parser.parse(expression)
    except ValueError:
        return None


def _measured(node: promql_parser.Expr) -> promql_parser.Expr:
    while True:
        match node:
            case promql_parser.ParenExpr():
                node = node.expr
            case promql_parser.BinaryExpr() if str(node.op) in _SETS:
                node = node.lhs
            case promql_parser.BinaryExpr() if str(node.op) in _COMPARISONS:
                node = node.rhs if isinstance(node.lhs, promql_parser.NumberLiteral) else node.lhs
            case _:
                return node
