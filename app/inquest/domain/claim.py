"""Claims: typed, checkable statements, each with pointers into evidence.

`text` is what a reader sees; for claims of code it is rendered from the type (`stages/claims.py`), and a
model's text may hold no number, time or name that its citations do not.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inquest.domain.value import Digest, Instant, Value


class Citation(Value):
    """A pointer (RFC 6901) into the full content of an admitted observation.

    `evidence` is the display name (E3), `quoted` the value as it is written in the claim. For a matrix
    series `pointer` may name the whole series ("/series/0") where the claim is about its course.
    """

    evidence: str = Field(pattern=r"^E[1-9]\d*$")
    observation_id: Digest
    content_digest: Digest
    pointer: str
    quoted: str


class _Claim(Value):
    text: str
    citations: tuple[Citation, ...] = Field(min_length=1)


class ValueAt(_Claim):
    """The series `subject` had `value` at `at` (the sample cited by its point)."""

    type: Literal["value_at"] = "value_at"
    subject: str
    at: Instant
    value: float
    unit: str = ""


class Change(_Claim):
    """The series `subject` went from `before` (median of the baseline) to `after` (its extreme after `at`).

    Both are recomputed from the cited series by `analysis`; citations: the series over window, and over
    baseline where that is another observation.
    """

    type: Literal["change"] = "change"
    subject: str
    at: Instant
    before: float
    after: float
    unit: str = ""


class Onset(_Claim):
    """The series `subject` left its baseline at `at`, as `analysis.onset` finds it in the cited series."""

    type: Literal["onset"] = "onset"
    subject: str
    at: Instant


class Precedes(_Claim):
    """`first_at` is before `then_at`. Citations: the two moments, in that order."""

    type: Literal["precedes"] = "precedes"
    first: str
    first_at: Instant
    then: str
    then_at: Instant


class CorrelatesInTime(_Claim):
    """Two series rise and fall together: |Spearman| >= `at_least` over their common samples."""

    type: Literal["correlates_in_time"] = "correlates_in_time"
    first: str
    second: str
    at_least: float = Field(ge=0, le=1)


class Present(_Claim):
    """The cited string contains `fragment`."""

    type: Literal["present"] = "present"
    fragment: str


class Absent(_Claim):
    """The cited observation answered the query successfully, untruncated, over the window: nothing matched."""

    type: Literal["absent"] = "absent"
    query: str


class StateIs(_Claim):
    """The cited field says that `subject` is in `state`."""

    type: Literal["state"] = "state"
    subject: str
    state: str


class ChangeEvent(_Claim):
    """The change `change_id` (a deployment, a merge ...) happened at `at`; the citation names its record."""

    type: Literal["change_event"] = "change_event"
    change_id: str
    what: str
    at: Instant


Claim = Annotated[
    ValueAt | Change | Onset | Precedes | CorrelatesInTime | Present | Absent | StateIs | ChangeEvent,
    Field(discriminator="type"),
]


class Unvalidated(Value):
    """A claim that code could not confirm, with the reason."""

    claim: Claim
    reason: str
