"""When a quoted value is the value: numbers after rounding to the digits quoted, text as it stands."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from inquest.domain.selector import selector

if TYPE_CHECKING:
    from inquest.domain.value import Json

MAX_QUOTE_CHARS = 200
"""A longer text is quoted by an excerpt."""
MIN_EXCERPT_CHARS = 8
"""A shorter part of a longer text can say the opposite of it ("ready" of "not ready")."""
MAX_NUMBER_CHARS = 64
_NUMBER = re.compile(r"^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_PLAIN_NUMBER = re.compile(r"^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_NUMBER_AND_UNIT = re.compile(
    r"^(?P<number>[+-]?[\d,]+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*(?P<unit>[^\d\s.,+-].{0,15})?\Z", re.ASCII
)


def number_of(text: str) -> Decimal | None:
    """Read a decimal number as it was written (its digits count), None where `text` is none."""
    if len(text) > MAX_NUMBER_CHARS or not _NUMBER.match(text):
        return None
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None


def number_in(value: Json) -> Decimal | None:
    """Give the number that a JSON value is: a number, or a string that is one (Prometheus writes those)."""
    match value:
        case bool() | None:
            return None
        case int():
            return Decimal(value)
        case float():
            return Decimal(repr(value))
        case str() if len(value) <= MAX_NUMBER_CHARS and _PLAIN_NUMBER.match(value):
            return Decimal(value)
        case _:
            return None


def as_written(value: float) -> Decimal:
    """Give a float with the digits that a reader would write: 1234.0 is "1234", 0.93 is "0.93"."""
    return Decimal(int(value)) if value.is_integer() else Decimal(repr(value))


def split_unit(text: str) -> tuple[Decimal | None, str]:
    """Split "250 ms" into its number and its unit; "" where there is none."""
    found = _NUMBER_AND_UNIT.match(text.strip())
    if found is None:
        return None, ""
    return number_of(found["number"]), (found["unit"] or "").strip()


def is_rounding_of(quoted: Decimal, value: Decimal) -> bool:
    """Say whether `value`, rounded to the digits of `quoted`, is `quoted`; a half may go either way.

    What is not zero is never quoted as zero: "0 errors" is another statement than "0.4 errors".
    """
    if not quoted.is_finite() or not value.is_finite() or (quoted == 0) != (value == 0):
        return False
    exponent = quoted.as_tuple().exponent
    half_a_digit = Decimal(5).scaleb(int(exponent) - 1)
    return abs(quoted - value) <= half_a_digit


def is_quote_of(quoted: str, value: Json) -> bool:
    """Say whether `quoted` stands for `value`, unit apart.

    Text is quoted whole or, where it has several words or is too long, by an excerpt of whole words. An
    object or list is quoted by "", or by the name of the series.
    """
    number = number_in(value)
    if number is not None:
        said = number_of(quoted)
        return said is not None and is_rounding_of(said, number)
    match value:
        case str():
            return quoted.strip() == value.strip() or _is_excerpt(quoted, value)
        case bool() | None:
            return quoted == {True: "true", False: "false", None: "null"}[value]
        case _:
            return quoted in {"", quote_of(value)}


def quote_of(value: Json) -> str:
    """Write `value` as code quotes it: `is_quote_of(quote_of(value), value)` holds."""
    match value:
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int():
            return str(value)
        case float():
            return repr(value)
        case str():
            return value if len(value) <= MAX_QUOTE_CHARS else _beginning(value)
        case dict() if isinstance(value.get("labels"), dict):
            return series_name(value)
        case _:
            return ""


def series_name(series: dict[str, Json]) -> str:
    """Name a series as PromQL writes it, at most MAX_QUOTE_CHARS characters: `up{job="api"}`."""
    labels = series.get("labels")
    texts = {name: str(value) for name, value in labels.items()} if isinstance(labels, dict) else {}
    metric = texts.pop("__name__", "")
    return (metric + (selector(texts) if texts or not metric else ""))[:MAX_QUOTE_CHARS]


def _beginning(text: str) -> str:
    """Give the first whole words of a long text, or its first characters when it is one long word."""
    cut = text[: MAX_QUOTE_CHARS + 1]
    words = cut[: cut.rindex(" ")].strip() if " " in cut.strip() else ""
    return words if len(words) >= MIN_EXCERPT_CHARS else text[:MAX_QUOTE_CHARS]


def _is_excerpt(quoted: str, value: str) -> bool:
    """Say whether `quoted` is a part of a longer text that begins and ends at the edge of a word."""
    part = quoted.strip()
    if len(part) < MIN_EXCERPT_CHARS:
        return False
    if len(part) >= MAX_QUOTE_CHARS:
        return value.strip().startswith(part)
    start = value.find(part)
    while start >= 0:
        end = start + len(part)
        edges = value[start - 1 : start] + value[end : end + 1]
        if not any(edge.isalnum() for edge in edges):
            return True
        start = value.find(part, start + 1)
    return False
