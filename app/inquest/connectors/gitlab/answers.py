"""GitLab's answers: a JSON list and the headers of its page, or a refusal with `message` or `error`.

The words of the source choose a hint of ours and go no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from inquest.connectors.gitlab.config import PER_PAGE
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json
from inquest.wire.answer import Answer, read_json, retry_after_ms, status_failure

_MAX_EPOCH_DIGITS = 12
_MAX_PAGE_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of a list. `next_page` is None on the last; `unsure` says that GitLab did not say which it is."""

    rows: list[Json]
    next_page: int | None
    unsure: bool = False


def read_list(answer: Answer, *, page: int, of_ref: bool, now: datetime) -> Listed | Failure:
    """Read a page of a list. `of_ref` says that the request named a branch, which may be what is not there."""
    refused = _refusal(answer, of_ref=of_ref, now=now)
    if refused is not None:
        return refused
    told = read_json(answer)
    if isinstance(told, Failure):
        return told
    if not isinstance(told, list):
        return failure(FailureCode.MALFORMED_RESULT, "the answer is not a list")
    said = answer.headers.get("x-next-page")
    if said is None:
        return Listed(told, None, unsure=len(told) >= PER_PAGE)
    following = _next_page(said.strip(), page)
    return following if isinstance(following, Failure) else Listed(told, following)


def _next_page(said: str, page: int) -> int | Failure | None:
    if not said:
        return None
    if not (said.isascii() and said.isdecimal() and len(said) <= _MAX_PAGE_DIGITS and int(said) > page):
        return failure(FailureCode.SCHEMA_DRIFT, "x-next-page: not as documented")
    return int(said)


def _refusal(answer: Answer, *, of_ref: bool, now: datetime) -> Failure | None:
    by_status = status_failure(answer, now=now)
    match answer.status:
        case 404:
            return _missing(answer, of_ref=of_ref)
        case 405 if b"pagination" in answer.body[:1_000].lower():
            return failure(FailureCode.BUDGET_EXHAUSTED, "GitLab gives no pages so far down; narrow the time range")
        case 429:
            return failure(FailureCode.RATE_LIMITED, "HTTP 429", retry_after_ms=_wait_ms(answer, now))
        case _:
            return by_status


def _missing(answer: Answer, *, of_ref: bool) -> Failure:
    """Tell apart a project that is not there, or not for this credential, a branch, and a path that is no API.

    GitLab does not tell a project that is not there from one that may not be seen.
    """
    said = read_json(answer)
    message = said.get("message") if isinstance(said, dict) else None
    if not isinstance(message, str):
        return failure(FailureCode.SCHEMA_DRIFT, "HTTP 404: GitLab has no such endpoint; check the URL")
    if of_ref and "project" not in message.lower():
        return failure(FailureCode.INVALID_QUERY, "ref: not there")
    return failure(FailureCode.CONTEXT_MISMATCH, "not there, or not to be seen with this credential")


def _wait_ms(answer: Answer, now: datetime) -> int | None:
    """Read Retry-After, else RateLimit-Reset: epoch seconds."""
    wait = retry_after_ms(answer.headers, now=now)
    if wait is not None:
        return wait
    reset = answer.headers.get("ratelimit-reset", "").strip()
    if not (reset.isascii() and reset.isdecimal() and len(reset) <= _MAX_EPOCH_DIGITS):
        return None
    return max(0, int(reset) * 1000 - int(now.timestamp() * 1000))
