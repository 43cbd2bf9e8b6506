"""What is refused before anything is sent, alike for every connector (checklist 1-9, 18-20)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Context, Query
from inquest.domain.value import Json
from inquest.wire.cursor import CursorKey, PageCursor
from inquest.wire.observe import MIN_SHOWN_BYTES
from inquest.wire.redaction import Redactor

SKEW = timedelta(seconds=60)
"""How far ahead of our clock a window may end: clocks of sources and workers differ."""
MAX_SPAN = timedelta(days=31)
MAX_HINT_CHARS = 500


def context_refusal(context: Context, pins: Context, redactor: Redactor) -> Failure | None:
    """Refuse a context that differs from the pins of the integration; the hint names the fields, not the values."""
    said, pinned = context.model_dump(), pins.model_dump()
    differs = [name for name in pinned if said[name] != pinned[name]]
    if differs:
        return failure(FailureCode.CONTEXT_MISMATCH, f"{', '.join(differs)}: not the one that is configured")
    secret = [name for name, value in said.items() if redactor.find_secret(str(value))]
    if secret:
        return failure(FailureCode.CONTEXT_MISMATCH, f"{', '.join(secret)}: holds a secret")
    return None


def text_refusal(service_id: str, arguments: dict[str, Json], redactor: Redactor) -> Failure | None:
    """Refuse text that cannot be sent, and secrets: a query is shown, stored and written to other people's logs."""
    for text in [service_id, *_texts(arguments)]:
        if "\0" in text or (not text.isascii() and not _is_unicode(text)):
            return failure(FailureCode.INVALID_QUERY, "an argument holds characters that cannot be sent")
        if (kind := redactor.find_secret(text)) is not None:
            return failure(FailureCode.INVALID_QUERY, f"an argument holds a secret ({kind}); leave it out")
    return None


def window_refusal(query: Query, now: datetime, max_span: timedelta) -> Failure | None:
    """Refuse a window that ends after `now` and the skew, or is longer than the source takes."""
    if query.time_range.end > now + SKEW:
        return failure(FailureCode.INVALID_QUERY, "time_range: ends in the future")
    if query.time_range.length > max_span:
        days = max_span / timedelta(days=1)
        return failure(FailureCode.INVALID_QUERY, f"time_range: longer than {days:g} days")
    return None


def page_of(query: Query, context: Context, key: CursorKey) -> PageCursor | Failure | None:
    """Read the cursor of `query`: None for the first page, a failure for one that may not be used."""
    if query.budget.max_bytes < MIN_SHOWN_BYTES:
        return failure(FailureCode.INVALID_QUERY, f"budget: max_bytes under {MIN_SHOWN_BYTES} shows nothing")
    if query.cursor is None:
        return None
    cursor = key.open(query, context, query.cursor)
    if cursor is None:
        return failure(FailureCode.INVALID_QUERY, "cursor: not one that was given for this query")
    if cursor.page > query.budget.max_pages:
        return failure(FailureCode.BUDGET_EXHAUSTED, f"max_pages: {query.budget.max_pages} were read")
    if cursor.bytes_used > query.budget.max_bytes - MIN_SHOWN_BYTES:
        return failure(
            FailureCode.BUDGET_EXHAUSTED, f"max_bytes: {cursor.bytes_used} of {query.budget.max_bytes} are used"
        )
    return cursor


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _texts(item)
        case _:
            pass


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
