"""Text -> tree, by recursive descent. Every refusal names the position and never repeats the text."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import NoReturn

from inquest.ports import InvalidQuery
from inquest.wire.logql.lexical import Token, tokens
from inquest.wire.logql.syntax import (
    COMPARES_QUANTITY,
    COMPARES_TEXT,
    COUNTS,
    KEEPS,
    KEEPS_MOST,
    KEYWORDS,
    NOT_TAKEN,
    PARSERS,
    SELECTS,
    SUMMARISES,
    Comparison,
    Condition,
    Count,
    Every,
    Expression,
    Grouping,
    LineFilter,
    LineFormat,
    LogQuery,
    MetricQuery,
    Parser,
    Quantity,
    Some,
    Stage,
    Summary,
)
from inquest.wire.matching import Matcher

MAX_DEPTH = 16
"""Brackets and functions inside each other."""
MAX_MATCHERS = 32
MAX_STAGES = 32
MAX_CONDITIONS = 64
"""Conditions of all label filters together."""
MAX_GROUPED_LABELS = 32
MAX_KEPT_SERIES = 1_000
"""The k of topk and bottomk."""
MAX_RANGE = timedelta(days=366)
"""Far above any limit; keeps the arithmetic of durations in its bounds."""

_DURATION = re.compile(
    r"(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?"
)
_UNITS_MS = (604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)
_QUANTITY = re.compile(
    r"\d+(?:\.\d+)?(?:[eE]\d+)?|(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w))+|\d+(?:\.\d+)?[kKMGTPE]?i?[bB]"
)
_TEMPLATE = re.compile(r"(?:[^{]|\{(?!\{)|\{\{\s*(?:\.[A-Za-z_][A-Za-z0-9_]*|__line__|__timestamp__)\s*\}\})*")


def parse(expression: str) -> Expression:
    """Read an expression. Raises InvalidQuery."""
    reader = _Reader(tokens(expression))
    tree = reader.expression()
    reader.end()
    return tree


class _Reader:
    """One pass over the tokens, left to right."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._index = 0
        self._depth = 0
        self._conditions = 0

    # ---- metrics

    def expression(self) -> Expression:
        token = self._next
        return self._metric() if token.kind == "word" else self._log_query()

    def _metric(self) -> MetricQuery:
        function = self._take()
        if function.text in COUNTS:
            return self._count(function)
        if function.kind != "word" or function.text not in (*SUMMARISES, *KEEPS_MOST):
            self._refuse(function, "a stream selector or a function over one")
        grouping = self._grouping()
        self._open("(", function)
        most = self._most() if function.text in KEEPS_MOST else None
        operand = self._metric()
        self._close(")")
        return Summary(function.text, operand, grouping or self._grouping(), most)

    def _count(self, function: Token) -> Count:
        self._open("(", function)
        query = self._log_query()
        length = self._range()
        query = LogQuery(query.matchers, (*query.stages, *self._stages()))  # {...}[5m] |= "x" is also LogQL
        self._limit_stages(query, function)
        self._close(")")
        return Count(function.text, query, length)

    def _range(self) -> timedelta:
        self._sign("[")
        token = self._take()
        parts = _DURATION.fullmatch(token.text) if token.kind == "number" else None
        if parts is None:
            self._refuse(token, "a duration such as 5m")
        milliseconds = sum(int(part) * unit for part, unit in zip(parts.groups(), _UNITS_MS, strict=True) if part)
        if not 0 < milliseconds <= MAX_RANGE // timedelta(milliseconds=1):
            self._refuse(token, "a duration such as 5m")
        self._sign("]")
        return timedelta(milliseconds=milliseconds)

    def _most(self) -> int:
        token = self._take()
        if token.kind != "number" or not token.text.isdecimal() or not 0 < int(token.text[:9]) <= MAX_KEPT_SERIES:
            self._refuse(token, f"a whole number up to {MAX_KEPT_SERIES}")
        self._sign(",")
        return int(token.text)

    def _grouping(self) -> Grouping | None:
        if self._next.kind != "word" or self._next.text not in {"by", "without"}:
            return None
        without = self._take().text == "without"
        self._sign("(")
        labels: list[str] = []
        while not self._at(")"):
            if labels:
                self._sign(",")
            token = self._take()
            if token.kind != "word" or len(labels) >= MAX_GROUPED_LABELS:
                self._refuse(token, f"at most {MAX_GROUPED_LABELS} label names")
            labels.append(token.text)
        self._sign(")")
        return Grouping(without, tuple(labels))

    # ---- log lines

    def _log_query(self) -> LogQuery:
        if self._at("("):
            self._open("(", self._next)
            inner = self._log_query()
            self._close(")")
            return inner
        token = self._next
        query = LogQuery(self._selector(), self._stages())
        self._limit_stages(query, token)
        return query

    def _limit_stages(self, query: LogQuery, token: Token) -> None:
        if len(query.stages) > MAX_STAGES:
            raise InvalidQuery(f"expression: more than {MAX_STAGES} stages after the selector at {token.at}")

    def _selector(self) -> tuple[Matcher, ...]:
        self._sign("{", 'a stream selector such as {app="web"}')
        matchers: list[Matcher] = []
        while not self._at("}"):
            if matchers:
                self._sign(",")
            if len(matchers) >= MAX_MATCHERS:
                raise InvalidQuery(f"expression: more than {MAX_MATCHERS} matchers at {self._next.at}")
            matchers.append(self._matcher())
        self._sign("}")
        return tuple(matchers)

    def _matcher(self) -> Matcher:
        name = self._take()
        if name.kind != "word":
            self._refuse(name, "a label name")
        operator = self._operator(SELECTS)
        return Matcher(name.text, operator, self._string())

    def _stages(self) -> tuple[Stage, ...]:
        stages: list[Stage] = []
        while self._next.kind == "sign" and self._next.text in {"|", *KEEPS}:
            stages.append(self._stage())
        return tuple(stages)

    def _stage(self) -> Stage:
        sign = self._take()
        if sign.text != "|":
            return LineFilter(sign.text, self._string())
        token = self._next
        if token.kind == "word" and token.text in PARSERS:
            return Parser(self._take().text)
        if token.kind == "word" and token.text == "line_format":
            self._take()
            return self._line_format()
        return self._condition()

    def _line_format(self) -> LineFormat:
        at = self._next.at
        template = self._string()
        if not _TEMPLATE.fullmatch(template):
            raise InvalidQuery(
                f"expression: the template at {at} may hold text and fields such as {{{{.status}}}} only"
            )
        return LineFormat(template)

    # ---- label filters: `and` binds closer than `or`

    def _condition(self) -> Condition:
        parts = [self._every()]
        while self._word("or"):
            parts.append(self._every())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _every(self) -> Condition:
        parts = [self._single()]
        while self._word("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _single(self) -> Condition:
        if self._at("("):
            self._open("(", self._next)
            inner = self._condition()
            self._close(")")
            return inner
        name = self._take()
        if name.kind != "word" or name.text in KEYWORDS:
            self._refuse(name, "json, logfmt, line_format or a label name")
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise InvalidQuery(f"expression: more than {MAX_CONDITIONS} label conditions at {name.at}")
        operator = self._operator((*COMPARES_TEXT, *COMPARES_QUANTITY))
        if self._next.kind == "string" and operator in COMPARES_TEXT:
            return Comparison(name.text, operator, self._string())
        token = self._take()
        if token.kind != "number" or operator not in COMPARES_QUANTITY or not _QUANTITY.fullmatch(token.text):
            self._refuse(token, "a string, or after = != > < a number, duration or size")
        return Comparison(name.text, operator, Quantity(token.text))

    # ---- pieces

    @property
    def _next(self) -> Token:
        return self._tokens[self._index]

    def _take(self) -> Token:
        token = self._next
        if token.kind != "end":
            self._index += 1
        return token

    def _at(self, sign: str) -> bool:
        return self._next.kind == "sign" and self._next.text == sign

    def _word(self, word: str) -> bool:
        if self._next.kind == "word" and self._next.text == word:
            self._index += 1
            return True
        return False

    def _sign(self, sign: str, wanted: str = "") -> None:
        token = self._take()
        if token.kind != "sign" or token.text != sign:
            self._refuse(token, wanted or f"'{sign}'")

    def _open(self, sign: str, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidQuery(f"expression: brackets nest deeper than {MAX_DEPTH} at {token.at}")
        self._sign(sign)

    def _close(self, sign: str) -> None:
        self._depth -= 1
        self._sign(sign)

    def _operator(self, allowed: tuple[str, ...]) -> str:
        token = self._take()
        if token.kind != "sign" or token.text not in allowed:
            self._refuse(token, f"one of {' '.join(dict.fromkeys(allowed))}")
        return token.text

    def _string(self) -> str:
        token = self._take()
        if token.kind != "string":
            self._refuse(token, "a string in double quotes")
        return token.text

    def end(self) -> None:
        token = self._next
        if token.kind == "word" and token.text in {"and", "or"}:
            said = 'write |~ "a|b" to look for several texts, or ask twice'
            raise InvalidQuery(f"expression: {token.text} at {token.at} is not taken here; {said}")
        if token.kind != "end":
            self._refuse(token, "the end")

    def _refuse(self, token: Token, wanted: str) -> NoReturn:
        if token.kind == "word" and token.text in NOT_TAKEN:
            raise InvalidQuery(f"expression: {token.text} at {token.at} is not taken here; expected {wanted}")
        where = "at the end" if token.kind == "end" else f"at {token.at}"
        raise InvalidQuery(f"expression: expected {wanted} {where}")
