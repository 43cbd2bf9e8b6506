"""The litellm adapter against a loopback provider that speaks OpenAI's and Anthropic's wire formats."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import AssistantTurn, ModelRequest, SystemText, ToolCall, ToolResult, Usage, UserText
from inquest.domain.transcript import Reply as Answer
from inquest.errors import ConfigurationError, ModelError
from inquest.models.litellm_model import ModelAccess, create
from inquest.models.pricing import Price
from inquest.models.wire_format import PLACEHOLDER
from inquest.ports import ModelFailure
from tests.fakes.connections import watch_connections
from tests.fakes.loopback import Act, Hang, Loopback, Raw, Reply, Seen, Stream, loopback

KEY = "sk-test-CANARY-77"
TOOL = ToolSpec(
    name="prometheus_query",
    description="ask",
    parameters={"type": "object", "properties": {"expression": {"type": "string"}}},
    source="prom",
    signal="metrics",
)


def ask(
    *, tools: tuple[ToolSpec, ...] = (TOOL,), models: tuple[str, ...] = ("small",), last: bool = False
) -> ModelRequest:
    return ModelRequest(
        purpose="turn",
        models=models,
        messages=(
            SystemText(text="You investigate."),
            UserText(text="What broke?"),
            AssistantTurn(text="", tool_calls=(ToolCall(call_id="c1", name="prometheus_query", arguments='{"bad'),)),
            ToolResult(call_id="c1", name="prometheus_query", text="invalid_query"),
        ),
        tools=tools,
        tool_choice="none" if last else "auto",
    )


def completion(message: Mapping[str, Any], **more: object) -> Reply:
    body = {
        "id": "resp-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-2026",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
        **more,
    }
    return Reply(body=json.dumps(body).encode())


def error(status: int, message: str, **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "x", "code": None}}).encode()
    return Reply(status=status, body=body, headers={"Content-Type": "application/json", **headers})


async def complete(
    fake: Loopback,
    request: ModelRequest | None = None,
    *,
    timeout_s: float = 20,
    names: tuple[str, ...] = ("small",),
    base_url: str | None = None,
) -> Answer:
    """Ask once through a new adapter, and close it."""
    access = ModelAccess(
        names=names,
        base_url=base_url or f"{fake.url}/v1",
        api_key=SecretStr(KEY),
        context_window_tokens=8_000,
        price=Price(input_usd=1.0, output_usd=10.0),
    )
    adapter = create(access)
    try:
        return await adapter.complete(request or ask(), timeout_s=timeout_s)
    finally:
        await adapter.aclose()


async def test_a_reply_carries_text_calls_usage_cost_and_ids() -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "prometheus_query", "arguments": '{"expression": "up"}'}}
    ]
    async with loopback(lambda _: completion({"content": "looking", "tool_calls": calls})) as fake:
        reply = await complete(fake)

    assert reply.content == "looking"
    assert reply.tool_calls == (ToolCall(call_id="a", name="prometheus_query", arguments='{"expression": "up"}'),)
    assert reply.usage == Usage(input_tokens=11, output_tokens=5)
    assert reply.cost_usd_micros == 61
    assert reply.provider_response_id == "resp-1"


async def test_what_is_sent_is_valid_history_with_our_tools_and_the_key_only_in_its_header() -> None:
    async with loopback(lambda _: completion({"content": "x"})) as fake:
        await complete(fake)

    (seen,) = fake.seen
    sent = json.loads(seen.body)
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert sent["tools"][0]["function"]["name"] == "prometheus_query"
    assert "temperature" not in sent
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in seen.body


async def test_withdrawn_tools_stay_described_and_may_not_be_called() -> None:
    async with loopback(lambda _: completion({"content": "x"})) as fake:
        await complete(fake, ask(last=True))

    assert json.loads(fake.seen[0].body)["tool_choice"] == "none"


async def test_without_tools_the_calls_of_the_history_are_told_as_text() -> None:
    async with loopback(lambda _: completion({"content": "x"})) as fake:
        await complete(fake, ask(tools=(), last=True))

    sent = json.loads(fake.seen[0].body)
    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert sent["messages"][3]["content"] == "(answer of prometheus_query)\ninvalid_query"


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), ModelFailure.AUTHENTICATION),
        (error(403, "no"), ModelFailure.AUTHENTICATION),
        (error(400, "This model's maximum context length is 8192 tokens"), ModelFailure.CONTEXT_OVERFLOW),
        (error(413, "Request too large"), ModelFailure.CONTEXT_OVERFLOW),
        (error(429, "insufficient_quota"), ModelFailure.QUOTA),
        (error(429, "slow"), ModelFailure.RATE_LIMITED),
        (error(500, "oops"), ModelFailure.UNAVAILABLE),
        (error(503, "busy"), ModelFailure.OVERLOADED),
        (error(529, "overloaded"), ModelFailure.OVERLOADED),
        (Reply(status=502, body=b"<html>bad</html>", headers={"Content-Type": "text/html"}), ModelFailure.UNAVAILABLE),
        (Raw(), ModelFailure.UNAVAILABLE),
        (completion({"content": "x"}, choices=[]), ModelFailure.MALFORMED),
        (Reply(status=302, headers={"Location": "http://169.254.169.254/"}), ModelFailure.UNAVAILABLE),
    ],
)  # fmt: skip
async def test_a_failure_is_one_request_and_a_kind_and_quotes_nothing(act: Act, kind: ModelFailure) -> None:
    async with loopback(lambda _: act) as fake:
        with watch_connections() as watch, pytest.raises(ModelError) as failed:
            await complete(fake)

    assert failed.value.kind is kind
    assert len(fake.seen) == 1
    assert {where for where in watch.opened if where.startswith("169.")} == set()
    assert KEY not in str(failed.value)
    assert failed.value.__cause__ is None


async def test_retry_after_is_told() -> None:
    async with loopback(lambda _: error(429, "slow", **{"Retry-After": "3"})) as fake:
        with pytest.raises(ModelError) as failed:
            await complete(fake)

    assert failed.value.retry_after_ms == 3000


async def test_a_hang_ends_with_the_time_that_was_given() -> None:
    async with loopback(lambda _: Hang()) as fake:
        with pytest.raises(ModelError) as failed:
            await complete(fake, timeout_s=0.3)

    assert failed.value.kind is ModelFailure.TIMEOUT


async def test_an_endless_answer_is_cut_off() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 65_536

    async with loopback(lambda _: Stream(chunks=endless())) as fake:
        with pytest.raises(ModelError) as failed:
            await complete(fake)

    assert failed.value.kind is ModelFailure.MALFORMED


async def test_the_next_model_of_the_list_answers_for_a_failing_one() -> None:
    def answer(seen: Seen) -> Act:
        asked = json.loads(seen.body)["model"]
        return error(503, "busy") if asked == "first" else completion({"content": "from the second"})

    async with loopback(answer) as fake:
        reply = await complete(fake, ask(models=("first", "second")))

    assert reply.content == "from the second"
    assert [json.loads(seen.body)["model"] for seen in fake.seen] == ["first", "second"]


@pytest.mark.parametrize("content", [None, "", PLACEHOLDER])
async def test_an_empty_answer_is_empty_text(content: str | None) -> None:
    async with loopback(lambda _: completion({"content": content})) as fake:
        reply = await complete(fake)

    assert reply.content == ""
    assert reply.tool_calls == ()


async def test_a_count_past_belief_is_unknown() -> None:
    claimed = {"prompt_tokens": 10**25, "completion_tokens": 5, "total_tokens": 10**25}
    async with loopback(lambda _: completion({"content": "x"}, usage=claimed)) as fake:
        reply = await complete(fake)

    assert reply.usage == Usage(input_tokens=None, output_tokens=5)
    assert reply.canonical()


async def test_absent_usage_is_unknown_and_not_free() -> None:
    async with loopback(lambda _: completion({"content": "x"}, usage=None)) as fake:
        reply = await complete(fake)

    assert reply.usage == Usage()
    assert reply.cost_usd_micros is None


async def test_repeated_call_ids_are_told_apart() -> None:
    call = {"id": "same", "type": "function", "function": {"name": "prometheus_query", "arguments": "{}"}}
    async with loopback(lambda _: completion({"content": None, "tool_calls": [call, call]})) as fake:
        reply = await complete(fake)

    assert [one.call_id for one in reply.tool_calls] == ["same", "same-2"]


async def test_anthropics_format_goes_through_the_same_door() -> None:
    said = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "looking"},
            {"type": "tool_use", "id": "t1", "name": "prometheus_query", "input": {"expression": "up"}},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }  # fmt: skip
    async with loopback(lambda _: Reply(body=json.dumps(said).encode())) as fake:
        names = ("anthropic/claude-sonnet-4-5",)
        reply = await complete(fake, ask(models=names), names=names, base_url=fake.url)

    assert json.loads(reply.tool_calls[0].arguments) == {"expression": "up"}
    assert reply.usage == Usage(input_tokens=7, output_tokens=3)
    assert reply.cost_usd_micros == 37
    assert fake.seen[0].path == "/v1/messages"


def test_the_window_is_litellms_or_the_configured_one() -> None:
    assert create(ModelAccess(names=("anthropic/claude-sonnet-4-5",))).window_tokens() == 200_000
    with pytest.raises(ConfigurationError, match=r"model\.context_window_tokens: litellm does not know openai/nobody"):
        create(ModelAccess(names=("openai/nobody",)))


@pytest.mark.parametrize("names", [("openai/nobody",), ("openai/gpt-4o", "openai/nobody")])
def test_a_model_of_unknown_price_is_refused_for_no_ceiling_in_dollars_would_hold(names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.price: litellm does not know what openai/nobody costs"):
        create(ModelAccess(names=names, context_window_tokens=8_000))

    free = ModelAccess(names=names, context_window_tokens=8_000, price=Price(input_usd=0.0, output_usd=0.0))
    assert create(free).window_tokens() == 8_000


async def test_a_model_that_hangs_leaves_the_next_one_its_share_of_the_time() -> None:
    def answer(seen: Seen) -> Act:
        return Hang() if json.loads(seen.body)["model"] == "first" else completion({"content": "from the second"})

    async with loopback(answer) as fake:
        reply = await complete(fake, ask(models=("first", "second")), names=("first", "second"), timeout_s=2)

    assert reply.content == "from the second"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("bedrock/anthropic.claude-3-haiku-20240307-v1:0",), "base_url: say where"),
        (("openai/gpt-4o", "anthropic/claude-sonnet-4-5"), "one key must not go to all"),
    ],
)
def test_no_key_goes_to_a_host_or_provider_that_nobody_has_named(names: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        create(ModelAccess(names=names, api_key=SecretStr(KEY)))


def test_tokens_are_counted_with_a_margin() -> None:
    free = Price(input_usd=0.0, output_usd=0.0)
    access = ModelAccess(names=("small",), base_url="http://127.0.0.1:9/v1", context_window_tokens=8_000, price=free)
    adapter = create(access)
    small, large = ask(), ask().but(messages=(UserText(text="error " * 1000),))

    assert adapter.count_tokens(large) > 1000 * 1.1
    assert adapter.count_tokens(small) < adapter.count_tokens(large)


def test_a_request_may_cost_what_the_dearest_of_the_models_takes() -> None:
    model = create(ModelAccess(names=("openai/gpt-4o-mini", "openai/gpt-4o")))
    dear, cheap = (create(ModelAccess(names=(name,))) for name in ("openai/gpt-4o", "openai/gpt-4o-mini"))

    assert model.most_usd_micros(1_000, 100) == dear.most_usd_micros(1_000, 100)
    assert dear.most_usd_micros(1_000, 100) > cheap.most_usd_micros(1_000, 100) > 0
    priced = ModelAccess(names=("openai/gpt-4o",), price=Price(input_usd=1.0, output_usd=10.0))
    assert create(priced).most_usd_micros(1_000, 100) == 2_000


def test_importing_it_opens_no_connection() -> None:
    code = (
        "import sys, socket\n"
        "def hook(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'): raise SystemExit(f'network: {event} {args}')\n"
        "sys.addaudithook(hook)\n"
        "from inquest.models.litellm_model import load\n"
        "load()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_what_litellm_says_of_itself_reaches_the_log_by_its_place_alone() -> None:
    code = (
        "import logging\n"
        "from inquest import telemetry\n"
        "telemetry.configure_logging(fmt='json', level='info')\n"
        "from inquest.models.litellm_model import load\n"
        "load()\n"
        "logging.getLogger('LiteLLM').warning('an order of Ines')\n"  # a line each: the same place is said once a minute
        "logging.getLogger('LiteLLM Router').warning('an order of Ines')\n"
        "logging.getLogger('LiteLLM Proxy').warning('an order of Ines')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)

    assert "Ines" not in done.stdout + done.stderr
    assert [json.loads(line)["logger"] for line in done.stderr.splitlines()] == [
        "LiteLLM", "LiteLLM Router", "LiteLLM Proxy",
    ]  # fmt: skip
