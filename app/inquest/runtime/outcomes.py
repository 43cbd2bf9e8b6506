"""What is recorded of a reading: checked, and made fit to be stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inquest.domain.budget import MAX_CONTENT_BYTES
from inquest.domain.canonical import digest_of
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Error, Recorded
from inquest.runtime.attempts import Tried
from inquest.stages.gather_evidence.admission import observations
from inquest.stages.tools import BoundTool


@dataclass(frozen=True)
class Outcome:
    """An outcome with its canonical bytes, and the contents of its observations by digest."""

    recorded: Recorded
    stored: bytes
    contents: dict[str, bytes] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Name the canonical bytes."""
        return digest_of(self.stored)

    @property
    def word(self) -> str:
        """Give ok, partial or the failure's code."""
        outcome = self.recorded.outcome
        return outcome.error.code if isinstance(outcome, Error) else outcome.status


def closed(why: Failure) -> Outcome:
    """Word the end of a key under which nothing was sent."""
    recorded = Recorded(outcome=Error(error=why), tries=0, exchanges=0)
    return Outcome(recorded=recorded, stored=recorded.canonical())


def outcome_of(tried: Tried, bound: BoundTool) -> Outcome:
    """Give what is recorded of `tried`.

    An observation whose full content is missing, too large or has another digest is marked unbacked, and
    will be excluded. An outcome that has no bytes, or too many, becomes malformed_result: one source's bad
    answer never costs the investigation (checklist 49).
    """
    found = observations(tried.reading.outcome)
    contents = {
        one.digest: tried.reading.contents[one.digest]
        for one in found
        if _is_backed(one.digest, tried.reading.contents)
    }
    recorded = Recorded(
        outcome=tried.reading.outcome,
        expected=bound.expected,
        tries=tried.tries,
        exchanges=tried.exchanges,
    )
    try:
        unbacked = tuple(one.observation_id for one in found if one.digest not in contents)
        recorded = recorded.but(unbacked=unbacked)
        stored = recorded.canonical()
    except UnicodeEncodeError:
        return _unreadable(recorded, "the answer holds text that has no bytes")
    if len(stored) > MAX_CONTENT_BYTES:
        return _unreadable(recorded, f"the answer is larger than {MAX_CONTENT_BYTES} bytes")
    return Outcome(recorded=recorded, stored=stored, contents=contents)


def _unreadable(recorded: Recorded, hint: str) -> Outcome:
    error = Error(error=failure(FailureCode.MALFORMED_RESULT, hint))
    recorded = recorded.but(outcome=error, unbacked=())
    return Outcome(recorded=recorded, stored=recorded.canonical())


def _is_backed(digest: str, contents: Mapping[str, bytes]) -> bool:
    stored = contents.get(digest)
    return stored is not None and len(stored) <= MAX_CONTENT_BYTES and digest_of(stored) == digest
