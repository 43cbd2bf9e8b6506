"""A model's provider fails in every way under whole investigations: each ends with a report, and its journal is counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from inquest.domain.diagnosis import Diagnosis
from inquest.domain.event import RunSucceeded, StageCommitted
from inquest.domain.investigation import Diagnosed
from inquest.domain.transcript import ModelRequest, UserText
from inquest.models.failures import MESSAGES
from inquest.models.litellm_model import LitellmModel, ModelAccess, create
from inquest.models.pricing import Price
from inquest.ports import ModelFailure
from inquest.runtime import attempts
from tests.bootstrap.installations import LEASE, Installation
from tests.fakes.loopback import Act, Hang, Loopback, Raw, Reply, Seen, Stream, loopback
from tests.store.door import Door
from tests.waiting import PATIENCE_S

MODEL = {"names": ["openai/first"], "context_window_tokens": 100_000, "price": {"input_usd": 1.0, "output_usd": 10.0}}
KEY = "sk-CANARY-31"
JSON = {"Content-Type": "application/json"}
WARMING = ModelRequest(purpose="turn", models=("openai/first",), messages=(UserText(text="?"),))
"""litellm loads the half of itself with its first request, which takes longer than a hang is waited for here."""
ONCE, OFTEN = 1, 3


def says(text: str) -> Reply:
    """Answer as OpenAI does."""
    message = {"role": "assistant", "content": text}
    return Reply(
        body=json.dumps({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "first",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }).encode()
    )  # fmt: skip


def fails(status: int, text: str = "no", **headers: str) -> Reply:
    said = {"error": {"message": text, "type": "x", "code": None}}
    return Reply(status=status, body=json.dumps(said).encode(), headers={**JSON, **headers})


WHOLE = says("It broke.").body
WAYS: dict[str, tuple[Act, ModelFailure, int]] = {
    "429": (fails(429, "slow down"), ModelFailure.RATE_LIMITED, OFTEN),
    "429, again in a moment": (fails(429, "slow", **{"Retry-After": "0.01"}), ModelFailure.RATE_LIMITED, OFTEN),
    "429, again in an hour": (fails(429, "slow", **{"Retry-After": "3600"}), ModelFailure.RATE_LIMITED, ONCE),
    "429 of a used-up account": (fails(429, "insufficient_quota"), ModelFailure.QUOTA, ONCE),
    "402": (fails(402), ModelFailure.QUOTA, ONCE),
    "500": (fails(500, "oops"), ModelFailure.UNAVAILABLE, OFTEN),
    "502 of a proxy": (
        Reply(502, b"<html>bad</html>", {"Content-Type": "text/html"}), ModelFailure.UNAVAILABLE, OFTEN,
    ),
    "503": (fails(503), ModelFailure.OVERLOADED, OFTEN),
    "529": (fails(529, "overloaded"), ModelFailure.OVERLOADED, OFTEN),
    "401": (fails(401, f"Incorrect API key provided: {KEY}"), ModelFailure.AUTHENTICATION, ONCE),
    "403": (fails(403), ModelFailure.AUTHENTICATION, ONCE),
    "404": (fails(404, "no such model"), ModelFailure.BAD_REQUEST, ONCE),
    "a refusal": (fails(400, "content_filter"), ModelFailure.REFUSED, ONCE),
    "a hang": (Hang(), ModelFailure.TIMEOUT, OFTEN),
    "a closed connection": (Raw(), ModelFailure.UNAVAILABLE, OFTEN),
    "an answer that is cut off": (Stream((WHOLE[:100],), length=len(WHOLE)), ModelFailure.UNAVAILABLE, OFTEN),
    "an answer that drips": (Stream((b" " for _ in iter(int, 1)), pause_s=0.01), ModelFailure.TIMEOUT, OFTEN),
    "garbage": (Reply(200, b"\xff\x00garbage", JSON), ModelFailure.UNAVAILABLE, OFTEN),
    "JSON that is no completion": (Reply(200, b'{"choices": []}', JSON), ModelFailure.MALFORMED, OFTEN),
    "a web page": (Reply(200, b"<html>login</html>", {"Content-Type": "text/html"}), ModelFailure.UNAVAILABLE, OFTEN),
    "a redirect": (Reply(302, b"", {"Location": "http://169.254.169.254/"}), ModelFailure.UNAVAILABLE, OFTEN),
}  # fmt: skip
"""What the provider does, what it means, and how often it is asked by one investigation."""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between attempts, and how long a hang is waited for."""
    monkeypatch.setattr(attempts, "BACKOFF_S", (0.01,))
    monkeypatch.setattr(attempts, "MODEL_ATTEMPT_TIMEOUT_S", 0.5)


@asynccontextmanager
async def provided(answer: Callable[[Seen], Act]) -> AsyncIterator[tuple[Loopback, LitellmModel]]:
    async with loopback(lambda _: says("Well?")) as provider:
        model = create(
            ModelAccess(
                names=("openai/first",), base_url=f"{provider.url}/v1", api_key=SecretStr(KEY),
                context_window_tokens=100_000, price=Price(input_usd=1.0, output_usd=10.0),
            )
        )  # fmt: skip
        try:
            await model.complete(WARMING, timeout_s=PATIENCE_S)
            provider.handler = answer
            provider.seen.clear()
            yield provider, model
        finally:
            await model.aclose()


async def diagnosis_of(installation: Installation, investigation_id: str) -> Diagnosis:
    """Give what its journal ends with, after checking that it ended well and tells its destinations."""
    events = await installation.events(investigation_id)
    assert isinstance(events[-1].body, RunSucceeded)
    (found,) = [
        event.body.update.diagnosis
        for event in events
        if isinstance(event.body, StageCommitted) and isinstance(event.body.update, Diagnosed)
    ]
    planned = installation.door.column(
        "select d.kind from delivery d join delivery_target t using (target_id)"
        " where t.investigation_id = %s order by d.revision",
        investigation_id,
    )
    assert planned[-1] == "report"
    return found


async def test_a_provider_that_fails_is_asked_so_often_and_no_more_and_the_report_says_so(
    door: Door, tmp_path: Path
) -> None:
    installation = Installation(door, tmp_path, model=MODEL)
    found = {}
    async with provided(lambda _: Raw()) as (provider, model):
        for way, (act, kind, _) in WAYS.items():
            provider.handler, provider.seen[:] = partial(_always, act), ()
            opened = await installation.open(way)
            await installation.run({"default": model})
            degraded = (await diagnosis_of(installation, opened)).degraded
            found[way] = (MESSAGES[kind] in degraded or degraded, len(provider.seen))
            assert KEY not in degraded

    assert found == {way: (True, often) for way, (_, _, often) in WAYS.items()}
    assert installation.value("select max(attempt) from investigation") == 1


def _always(act: Act, _: Seen) -> Act:
    return act


async def test_a_provider_that_fails_every_other_time_costs_two_requests_a_turn_and_no_quality(
    door: Door, tmp_path: Path
) -> None:
    turns = 0

    def flaps(_: Seen) -> Act:
        nonlocal turns
        turns += 1
        return fails(500) if turns % 2 else says('{"verdict": "inconclusive", "root_cause": "Not shown."}')

    installation = Installation(door, tmp_path, model=MODEL)
    opened = await installation.open()
    async with provided(flaps) as (provider, model):
        await installation.run({"default": model})

    found = await diagnosis_of(installation, opened)
    asked = installation.value("select count(*) from effect where kind = 'model' and state = 'committed'")
    assert (found.degraded, len(provider.seen)) == ("", 2 * int(str(asked)))


async def test_four_at_once_ask_a_provider_that_is_down_so_often_each(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path, model=MODEL)
    opened = [await installation.open(f"Broken{number}") for number in range(4)]
    async with provided(lambda _: fails(529)) as (provider, model):
        claiming = installation.claiming({"default": model})
        claimed = [await installation.claims.claim(f"owner-{number}", lease=LEASE) for number in range(4)]
        await asyncio.gather(*(claiming.run(one, installation.guard(one)) for one in claimed if one is not None))

    for one in opened:
        assert MESSAGES[ModelFailure.OVERLOADED] in (await diagnosis_of(installation, one)).degraded
    assert len(provider.seen) == 4 * OFTEN
