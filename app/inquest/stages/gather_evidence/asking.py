"""The request of a turn: fitted to the window before it is sent, and once more when the provider says it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inquest.domain.transcript import ModelRequest, Reply
from inquest.errors import ModelError
from inquest.ports import LoopView, ModelFailure
from inquest.stages.cost import most_of
from inquest.stages.gather_evidence.context import eviction_order, evictions, fewest
from inquest.stages.gather_evidence.kit import GatherKit
from inquest.stages.gather_evidence.limits import answer_tokens, room_tokens
from inquest.stages.gather_evidence.state import LoopState
from inquest.stages.gather_evidence.view import loop_view, with_evicted

OVERFLOW_SHARE = 0.6
"""After a provider's overflow error the request shrinks to this share of what we had counted, once."""


@dataclass(frozen=True)
class Written:
    """A request as it would be sent, what it was written from, and our count of its tokens."""

    view: LoopView
    request: ModelRequest
    tokens: int
    evicted: tuple[str, ...] = ()


class Question:
    """One turn's question to the investigator."""

    def __init__(self, kit: GatherKit, state: LoopState, contents: Mapping[str, bytes]) -> None:
        self._kit = kit
        self._state = state
        self._contents = contents
        self._shrunk = False
        self.first = self._write(())
        self.sent = self.first

    @property
    def most_usd_micros(self) -> int:
        """Give what it may cost at most, in millionths of a dollar."""
        written, dearest = answer_tokens(self._state.investigation.limits), self._state.dearest_turn_usd_micros
        return most_of(self.first.tokens, written, self._kit.price, dearest_usd_micros=dearest).usd_micros

    def must_evict(self) -> tuple[str, ...]:
        """Give the paths to evict before this may be asked; () when it fits as it is."""
        room = room_tokens(self._state.investigation.limits)
        return evictions(self._state, room, self._count)

    async def ask(self, timeout_s: float) -> Reply:
        """Ask; after a context overflow ask a smaller request, once. Raises ModelError."""
        try:
            return await self._answer(timeout_s)
        except ModelError as error:
            if error.kind != ModelFailure.CONTEXT_OVERFLOW or self._shrunk:
                raise
            self._shrink(error)
        return await self._answer(timeout_s)

    async def _answer(self, timeout_s: float) -> Reply:
        return await self._kit.investigator.answer(self.sent.request, self.sent.view, timeout_s=timeout_s)

    def _shrink(self, overflow: ModelError) -> None:
        self._shrunk = True
        room = int(self.first.tokens * OVERFLOW_SHARE)
        paths = fewest(eviction_order(self._state), room, self._count)
        if not paths:
            raise overflow
        self.sent = self._write(paths)

    def _count(self, paths: tuple[str, ...]) -> int:
        return self._write(paths).tokens if paths else self.first.tokens

    def _write(self, paths: tuple[str, ...]) -> Written:
        view = loop_view(with_evicted(self._state, paths), self._kit.frame, self._contents)
        request = self._kit.investigator.request(view)
        return Written(view=view, request=request, tokens=self._kit.count_tokens(request), evicted=paths)
