"""One seed, or one model turn, run through the door: for tests of what happens on the way."""

from __future__ import annotations

from collections.abc import Callable

from inquest.domain.budget import Limits
from inquest.domain.effect import EffectRow
from inquest.domain.failure import FailureCode, failure
from inquest.domain.observation import Error, Ok, Outcome, Partial, Query
from inquest.domain.signals import SignalContent
from inquest.domain.transcript import ModelRequest, Reply
from inquest.errors import ModelError
from inquest.runtime.effects import ClaimedActs
from tests.loop_host import Host, reply, tool

REQUEST = ModelRequest(purpose="turn", models=("m",), messages=())


def failing(code: FailureCode, *, times: int, retry_after_ms: int | None = None) -> Callable[[Query], Outcome]:
    """Fail `times` times, then answer with nothing."""
    left = [times]

    def answer(_: Query) -> Outcome:
        left[0] -= 1
        if left[0] >= 0:
            return Error(error=failure(code, retry_after_ms=retry_after_ms))
        return Ok(observations=())

    return answer


def host_with(answering: Callable[[Query], SignalContent | Outcome], **more: int) -> Host:
    return Host([tool("metrics_query", answering)], seeds=("errors",), limits=Limits(**more))


async def seed_run(host: Host) -> tuple[Outcome, ClaimedActs]:
    """Run the one seed as the first owner."""
    acts = await host.acts(await host.start())
    return (await acts.query("seed/1", seed_query(host))).outcome, acts


def seed_query(host: Host) -> Query:
    return host._plan().seeds[0].query


async def row(host: Host, key: str) -> EffectRow:
    return next(one for one in (await host.chronicle()).effects if one.key == key)


def code_of(outcome: Outcome) -> FailureCode | None:
    return outcome.error.code if isinstance(outcome, Error | Partial) else None


async def ask(text: str = "It broke.") -> Reply:
    return reply(text)


async def model_tries(host: Host, *lines: Reply | ModelError, timeout_s: float = 100) -> tuple[object, int]:
    acts = await host.acts(await host.start())
    said = iter(lines)

    async def next_line(_: float) -> Reply:
        line = next(said)
        if isinstance(line, ModelError):
            raise line
        return line

    answered = await acts.model("turn/1", REQUEST, next_line, timeout_s=timeout_s)
    return answered.outcome, len(lines) - len(list(said))
