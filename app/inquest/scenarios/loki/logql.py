"""A stated subset of LogQL: a stream selector, line filters, and two metric queries with `sum`.

Everything else (parsers, label filters, formatting, unwrap, other aggregations, arithmetic) is refused by
name with the position, as a parse error: 400, plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from inquest.errors import InquestError
from inquest.scenarios import bounds
from inquest.scenarios.loki.strings import BadString, unquoted
from inquest.scenarios.moments import unit_duration_ms
from inquest.scenarios.promql.syntax import Match, Matcher
from inquest.wire.patterns import BadPattern, Pattern, pattern

_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`)|(?P<sign>\|=|\|~|!=|!~|=~|[=|{}()\[\],])"
    r"|(?P<duration>\d[\d\w]*)|(?P<word>[A-Za-z_]\w*)|(?P<end>$)|(?P<odd>.))",
    re.DOTALL,
)
_EMPTY_COMPATIBLE = (
    "parse error : queries require at least one regexp or equality matcher that does not have an "
    'empty-compatible value. For instance, app=~".*" does not meet this requirement, but app=~".+" will'
)


class LogqlRefused(InquestError):
    """A query that is not LogQL or outside the subset; the message is the body of a 400."""


class Keep(StrEnum):
    """What a line filter keeps."""

    CONTAINS = "|="
    LACKS = "!="
    MATCHES = "|~"
    DIFFERS = "!~"


@dataclass(frozen=True, slots=True)
class LineFilter:
    """One line filter. `pattern` is set for the two regular-expression kinds."""

    keep: Keep
    text: str
    pattern: Pattern | None = None

    def keeps(self, line: str) -> bool:
        """Say whether `line` passes."""
        found = self.text in line if self.pattern is None else self.pattern.occurs_in(line)
        return found is (self.keep in (Keep.CONTAINS, Keep.MATCHES))


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The lines of the selected streams that pass every filter."""

    matchers: tuple[Matcher, ...]
    filters: tuple[LineFilter, ...]

    def keeps(self, line: str) -> bool:
        """Say whether `line` passes every filter."""
        return all(one.keeps(line) for one in self.filters)


class RangeAggregation(StrEnum):
    """A number of lines per stream."""

    COUNT = "count_over_time"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class CountLines:
    """The lines in (t - range, t], as a count or per second."""

    aggregation: RangeAggregation
    query: LogQuery
    range_ms: int


@dataclass(frozen=True, slots=True)
class SumOf:
    """The sum over the groups that agree on `labels`, or on all but `labels` when `without`."""

    operand: CountLines
    labels: tuple[str, ...]
    without: bool


MetricQuery = CountLines | SumOf


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str) -> LogQuery | MetricQuery:
    """Read a query. Raises LogqlRefused."""
    parser = _Parser(text)
    query = parser.query()
    parser.expect_end()
    return query


def parse_selector(text: str) -> tuple[Matcher, ...]:
    """Read a bare stream selector, as the series and index endpoints take. Raises LogqlRefused."""
    parser = _Parser(text)
    query = parser.log_query()
    parser.expect_end()
    if query.filters:
        raise LogqlRefused("only label matchers are supported")
    return query.matchers


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > bounds.MAX_EXPRESSION_CHARS:
            raise LogqlRefused(f"parse error : the query is longer than {bounds.MAX_EXPRESSION_CHARS} characters")
        self._text = text
        self._tokens = _tokens(text)
        self._index = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._index]

    def _take(self) -> _Token:
        token = self._next
        if token.kind != "end":
            self._index += 1
        return token

    def _refuse(self, token: _Token, reason: str) -> NoReturn:
        before = self._text[: token.at]
        line, column = before.count("\n") + 1, token.at - (before.rfind("\n") + 1) + 1
        raise LogqlRefused(f"parse error at line {line}, col {column}: {reason}")

    def _unexpected(self, token: _Token, *expecting: str) -> NoReturn:
        found = "$end" if token.kind == "end" else token.text
        wanted = f", expecting {' or '.join(expecting)}" if expecting else ""
        self._refuse(token, f"syntax error: unexpected {found}{wanted}")

    def _sign(self, sign: str) -> None:
        token = self._take()
        if token.kind != "sign" or token.text != sign:
            self._unexpected(token, sign)

    def _at(self, sign: str) -> bool:
        return self._next.kind == "sign" and self._next.text == sign

    def expect_end(self) -> None:
        if self._next.kind != "end":
            self._unexpected(self._next)

    def query(self) -> LogQuery | MetricQuery:
        if self._next.kind != "word":
            return self.log_query()
        return self._sum() if self._next.text == "sum" else self._count_lines()

    def _sum(self) -> SumOf:
        self._take()
        grouping = self._grouping()
        self._sign("(")
        operand = self._count_lines()
        self._sign(")")
        labels, without = grouping or self._grouping() or ((), False)
        return SumOf(operand, labels, without)

    def _grouping(self) -> tuple[tuple[str, ...], bool] | None:
        if self._next.kind != "word" or self._next.text not in ("by", "without"):
            return None
        without = self._take().text == "without"
        self._sign("(")
        labels: list[str] = []
        while not self._at(")"):
            if labels:
                self._sign(",")
            token = self._take()
            if token.kind != "word":
                self._unexpected(token, "IDENTIFIER", ")")
            labels.append(token.text)
        self._sign(")")
        return tuple(labels), without

    def _count_lines(self) -> CountLines:
        token = self._take()
        if token.kind != "word":
            self._unexpected(token)
        if token.text not in (RangeAggregation.COUNT.value, RangeAggregation.RATE.value):
            self._refuse(token, f"the recorded backend does not evaluate {token.text}")
        self._sign("(")
        query = self.log_query()
        self._sign("[")
        duration = self._take()
        range_ms = unit_duration_ms(duration.text) if duration.kind == "duration" else None
        if not range_ms:
            self._refuse(duration, f'not a valid duration string: "{duration.text}"')
        self._sign("]")
        self._sign(")")
        return CountLines(RangeAggregation(token.text), query, range_ms)

    def log_query(self) -> LogQuery:
        matchers = self._selector()
        filters: list[LineFilter] = []
        while self._next.kind == "sign" and self._next.text in ("|=", "!=", "|~", "!~", "|"):
            filters.append(self._line_filter())
            if len(filters) > bounds.MAX_LINE_FILTERS:
                self._refuse(self._next, f"more than {bounds.MAX_LINE_FILTERS} line filters")
        if all(matcher.accepts("") for matcher in matchers):
            raise LogqlRefused(_EMPTY_COMPATIBLE)
        return LogQuery(matchers, tuple(filters))

    def _line_filter(self) -> LineFilter:
        sign = self._take()
        if sign.text == "|":
            stage = self._next
            self._refuse(stage, f"the recorded backend does not evaluate the pipeline stage {stage.text or '$end'}")
        keep, text = Keep(sign.text), self._string()
        return LineFilter(keep, text, self._pattern(text) if keep in (Keep.MATCHES, Keep.DIFFERS) else None)

    def _selector(self) -> tuple[Matcher, ...]:
        self._sign("{")
        matchers: list[Matcher] = []
        while not self._at("}"):
            if matchers:
                self._sign(",")
            matchers.append(self._matcher())
            if len(matchers) > bounds.MAX_LOG_MATCHERS:
                raise LogqlRefused(
                    "max streams matchers per query exceeded, matchers-count > limit "
                    f"({len(matchers)} > {bounds.MAX_LOG_MATCHERS})",
                )
        self._sign("}")
        return tuple(matchers)

    def _matcher(self) -> Matcher:
        name = self._take()
        if name.kind != "word":
            self._unexpected(name, "IDENTIFIER", "}")
        sign = self._take()
        if sign.kind != "sign" or sign.text not in ("=", "!=", "=~", "!~"):
            self._unexpected(sign, "=", "!=", "=~", "!~")
        match, value = Match(sign.text), self._string()
        regular = match in (Match.SPANS, Match.NOT_SPANS)
        return Matcher(name.text, match, value, self._pattern(value) if regular else None)

    def _string(self) -> str:
        token = self._take()
        if token.kind != "string":
            self._unexpected(token, "STRING")
        try:
            return unquoted(token.text)
        except BadString as refused:
            self._refuse(token, f"invalid string: {refused}")

    def _pattern(self, text: str) -> Pattern:
        try:
            return pattern(text)
        except BadPattern as refused:
            raise LogqlRefused(f"parse error : error parsing regexp: {refused}") from refused


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:  # `odd` takes any character, `end` the end
            raise LogqlRefused("parse error : unreadable query")
        found.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
        if match.lastgroup == "end":
            return found
        at = match.end()
