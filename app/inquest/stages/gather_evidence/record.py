"""What the fold of the loop reads beside the events: effect rows, and stored bytes by digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from inquest.domain.effect import EffectRow, ModelFailed
from inquest.domain.event import BatchJoined, EventBody, TurnCommitted
from inquest.domain.failure import FailureCode
from inquest.domain.hypothesis import Hypothesis, LedgerEntry
from inquest.domain.observation import Recorded
from inquest.domain.planned import ByInternal
from inquest.domain.transcript import Reply
from inquest.domain.value import Value
from inquest.errors import ReplayMismatch

T = TypeVar("T")
_model_outcome: TypeAdapter[Reply | ModelFailed] = TypeAdapter(Reply | ModelFailed)


def model_outcome(stored: bytes) -> Reply | ModelFailed:
    """Read the stored outcome of a model effect. Raises pydantic.ValidationError."""
    return _model_outcome.validate_json(stored)


class InternalResult(Value):
    """The answer of an internal tool, and what it changed: folding applies it, it is not worked out again.

    `text` is ours unless `evidence` names the item it was read from: then it is foreign, and is shown
    inside the boundary. `code` is set when the call was refused. `found` are tools that come on offer.
    """

    tool: str
    text: str
    code: FailureCode | None = None
    evidence: str = ""
    judged: LedgerEntry | None = None
    opened: Hypothesis | None = None
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """Effect rows by key and contents by digest. Each reader raises ReplayMismatch naming what is missing."""

    effects: Mapping[str, EffectRow]
    contents: Mapping[str, bytes]

    def reply(self, digest: str, of: str) -> Reply | ModelFailed:
        """Read what a model effect gave."""
        return _parsed(model_outcome, self._bytes(digest, of), digest, of)

    def outcome(self, key: str) -> Recorded:
        """Read the outcome under a committed query key."""
        row = self.effects.get(key)
        if row is None or row.outcome_digest is None:
            raise ReplayMismatch(f"the receipt of {key} is missing")
        return _parsed(Recorded.parse, self._bytes(row.outcome_digest, key), row.outcome_digest, key)

    def internal(self, digest: str, of: str) -> InternalResult:
        """Read the answer of an internal tool."""
        return _parsed(InternalResult.parse, self._bytes(digest, of), digest, of)

    def takings(self, key: str) -> list[EffectRow]:
        """Give every row of `key`: the first taking and its tries."""
        return [row for name, row in self.effects.items() if name == key or name.startswith(f"{key}/try/")]

    def _bytes(self, digest: str, of: str) -> bytes:
        found = self.contents.get(digest)
        if found is None:
            raise ReplayMismatch(f"content {digest} is missing: it holds the answer of {of}")
        return found


def wanted(bodies: Iterable[EventBody], effects: Iterable[EffectRow]) -> tuple[str, ...]:
    """List the digests that folding reads: replies, internal answers and outcomes, each once, in order."""
    found: dict[str, None] = {}
    for body in bodies:
        match body:
            case TurnCommitted(reply=reply):
                found[reply] = None
            case BatchJoined(results=results):
                found.update({joined.result: None for joined in results if isinstance(joined, ByInternal)})
            case _:
                pass
    found.update({row.outcome_digest: None for row in effects if row.outcome_digest is not None})
    return tuple(found)


def _parsed(parse: Callable[[bytes], T], raw: bytes, digest: str, of: str) -> T:
    try:
        return parse(raw)
    except ValidationError as error:
        raise ReplayMismatch(f"content {digest}, the answer of {of}, cannot be read") from error
