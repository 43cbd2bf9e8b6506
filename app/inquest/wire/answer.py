"""What came back over the wire, and the failures that every vendor's HTTP shares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json

MAX_JSON_DEPTH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
SUCCESS = 2
REDIRECTION = 3
"""The first digit of a status (RFC 9110 15)."""
KEPT_HEADERS = frozenset({
    "content-type", "link", "ratelimit-remaining", "ratelimit-reset", "retry-after", "x-next-page", "x-page",
    "x-per-page", "x-ratelimit-remaining", "x-ratelimit-reset", "x-request-id", "x-total", "x-total-pages",
})  # fmt: skip
"""The response headers that a connector may read; all others (cookies) are dropped at the door."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One bounded HTTP answer. `headers` has lower-case names; `cut` says that the cap ended the reading."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    cut: bool = False

    @property
    def content_type(self) -> str:
        """Give the media type without parameters, lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def status_failure(answer: Answer, *, now: datetime) -> Failure | None:
    """Give the failure of a status that is not 2xx, None for 2xx.

    A vendor that says more (an errorType, a 404 that means "no such project") is asked first by its own
    connector; this is what the bare status means anywhere.
    """
    status = answer.status
    family = status // 100
    if family == SUCCESS:
        return None
    if family == REDIRECTION:
        return failure(
            FailureCode.CAPABILITY_DENIED,
            f"HTTP {status}: a redirect is never followed; check the URL and the credential",
        )
    match status:
        case 400 | 405 | 406 | 409 | 414 | 415 | 422:
            code = FailureCode.INVALID_QUERY
        case 401 | 402 | 403 | 407:
            code = FailureCode.CAPABILITY_DENIED
        case 404 | 410 | 501:
            code = FailureCode.SCHEMA_DRIFT
        case 408 | 504:
            code = FailureCode.TIMEOUT
        case 413:
            code = FailureCode.BUDGET_EXHAUSTED
        case 429:
            return failure(FailureCode.RATE_LIMITED, "HTTP 429", retry_after_ms=retry_after_ms(answer.headers, now=now))
        case _:
            code = FailureCode.PROVIDER_ERROR
    return failure(code, f"HTTP {status}")


def retry_after_ms(headers: Mapping[str, str], *, now: datetime) -> int | None:
    """Read Retry-After (RFC 9110 10.2.3: seconds or a date), None where it is missing or unreadable."""
    said = headers.get("retry-after", "").strip()
    if not said:
        return None
    if said.isascii() and said.isdecimal():
        return min(int(said[:9]), 86_400) * 1000
    try:
        moment = parsedate_to_datetime(said)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, int((aware - now).total_seconds() * 1000))


def read_json(answer: Answer) -> Json | Failure:
    """Read the body as JSON (RFC 8259: no NaN, no Infinity), or say why it cannot be read.

    A cut body is budget_exhausted: half of a JSON text is none. A web page (a login form behind a 200) is
    malformed_result. A lone surrogate, which JSON can escape and no UTF-8 can hold, becomes U+FFFD.
    """
    if answer.cut:
        return failure(FailureCode.BUDGET_EXHAUSTED, "the answer is larger than the transport takes; ask for less")
    if answer.content_type in {"text/html", "application/xhtml+xml"}:
        return failure(
            FailureCode.MALFORMED_RESULT, "a web page came back instead of JSON; check the URL and the login"
        )
    try:
        found: Json = json.loads(answer.body.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return failure(FailureCode.MALFORMED_RESULT, "the answer is not JSON")
    if not _shallow(found):
        return failure(FailureCode.MALFORMED_RESULT, f"the answer is nested deeper than {MAX_JSON_DEPTH}")
    return _replaced(found) if b"\\u" in answer.body else found


def _replaced(found: Json) -> Json:
    match found:
        case str():
            return found if found.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", found)
        case list():
            return [_replaced(item) for item in found]
        case dict():
            return {str(_replaced(name)): _replaced(item) for name, item in found.items()}
        case _:
            return found


def _object(pairs: list[tuple[str, Json]]) -> Json:
    """Build an object in Python: the scanner, which is C, lets the event loop's thread run only here.

    Without it 13 MiB of samples held the interpreter for as long as they took to read, with it for a fifth of that.
    """
    return dict(pairs)


def _refuse(name: str) -> Json:
    raise ValueError(name)


def _shallow(found: Json) -> bool:
    """Say whether `found` is nested at most MAX_JSON_DEPTH deep; walks level by level, without recursion."""
    level: list[Json] = [found]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False
