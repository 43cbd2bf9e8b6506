"""What comes back is checked and bounded before it is recorded; one bad answer costs its own branch only."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from typing_extensions import override

from inquest.domain.canonical import canonical_json
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok, Outcome, Query
from inquest.domain.signals import Other, SignalContent
from inquest.domain.transcript import Reply
from inquest.models.scripted import in_order
from inquest.ports import Reading
from inquest.wire.redaction import Redactor
from tests.builders import facts, matrix, observation, series
from tests.loop_host import Host, SyntheticTool, call, calls, judged, reply, tool
from tests.runtime.acts import code_of, host_with, model_tries, seed_query, seed_run


async def test_a_connectors_bug_costs_its_own_branch_only() -> None:
    def bug(query: Query) -> Outcome:
        if query.expression == "bad":
            raise ZeroDivisionError
        return Ok(observations=())

    host = Host([tool("metrics_query", bug)])
    asked = calls(*(call("metrics_query", expression=name) for name in ("good", "bad", "fine")))

    gathered = await host.gather(in_order([asked, reply("")]))

    failures = [one.failure and one.failure.code for one in (await host.state()).answers]
    assert failures == [None, FailureCode.MALFORMED_RESULT, None]
    assert gathered.stop_reason == "never_concluded"


async def test_a_call_gets_no_more_time_than_its_budget_or_what_is_left() -> None:
    host = host_with(lambda _: Ok(observations=()), wall_clock_s=10)
    acts = await host.acts(await host.start())
    host.clock.pass_(9.98)

    async def hang(_: Query) -> None:
        await asyncio.Event().wait()

    host.tools[0].hold = hang
    reading = await asyncio.wait_for(acts.query("seed/1", seed_query(host)), 5)

    assert code_of(reading.outcome) is FailureCode.TIMEOUT


class Lying(SyntheticTool):
    """Answers with an observation whose content is another's, or is not there."""

    contents: dict[str, bytes]

    @override
    def _reading(self, answer: SignalContent | Outcome, query: Query) -> Reading:
        reading = super()._reading(answer, query)
        return reading.but(
            contents={digest: self.contents.get("", b"") for digest in reading.contents if self.contents}
        )


@pytest.mark.parametrize("contents", [{}, {"": b"something else"}], ids=["missing", "another"])
async def test_an_observation_whose_content_is_not_its_own_is_excluded(contents: dict[str, bytes]) -> None:
    lying = Lying(tool("metrics_query").spec)
    lying.contents = contents
    host = Host([lying], seeds=("errors",))

    await host.gather(in_order([reply("")]))

    state = await host.state()
    assert state.evidence == ()
    assert [one.reason for one in state.excluded] == ["its content is missing or has another digest"]


WRONG = {
    "tenant": "its tenant differs from what was asked",
    "workspace": "its workspace differs from what was asked",
    "source": "its source differs from what was asked",
    "service": "its service differs from what was asked",
    "cursor": "its cursor differs from what was asked",
}


@pytest.mark.parametrize("field", WRONG)
async def test_an_observation_that_disagrees_with_its_query_is_excluded_and_listed(field: str) -> None:
    content = matrix(series([1.0]))

    def other(query: Query) -> Outcome:
        seen = observation(
            content, source="synthetic", tool=query.tool, service=query.service_id, time_range=query.time_range
        )
        return Ok(observations=(seen.but(**{field: "other"}),))

    class Backed(SyntheticTool):
        @override
        async def read(self, context: object, query: Query) -> Reading:
            outcome = other(query)
            assert isinstance(outcome, Ok)
            digest = outcome.observations[0].digest
            return Reading(outcome=outcome, contents={digest: canonical_json(content.model_dump(mode="json"))})

    host = Host([Backed(tool("metrics_query").spec)], seeds=("errors",))
    assert facts().window.incident == seed_query(host).time_range

    await host.gather(in_order([reply("")]))

    state = await host.state()
    assert (state.evidence, [one.reason for one in state.excluded]) == ((), [WRONG[field]])


async def test_text_that_has_no_bytes_is_a_malformed_result_and_never_a_lost_run() -> None:
    broken = observation(matrix(series([1.0])), source="synthetic", tool="metrics_query").but(expression="\ud800")
    host = host_with(lambda _: Ok(observations=(broken,)))

    outcome, _ = await seed_run(host)

    assert code_of(outcome) is FailureCode.MALFORMED_RESULT


async def test_a_50_mb_answer_is_not_kept_and_grows_memory_by_less_than_100_mb() -> None:
    large = b"x" * 50_000_000
    host = host_with(lambda _: Other(value="small"))

    class Large(SyntheticTool):
        @override
        async def read(self, context: object, query: Query) -> Reading:
            reading = self._reading(Other(value="small"), query)
            return reading.but(contents=dict.fromkeys(reading.contents, large))

    host.connector.tools = [Large(host.tools[0].spec)]
    tracemalloc.start()
    await host.gather(in_order([calls(*judged("h1")), reply("")]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    state = await host.state()
    assert len(state.excluded) == 1
    assert peak < 100_000_000


async def test_a_reply_is_bounded_and_sanitised_before_it_is_stored() -> None:
    host = Host([tool("metrics_query")])
    huge = calls(*(call("metrics_query", f"c{n}", expression="x" * 15_000) for n in range(300))).but(
        content="\x00\ud800" + "y" * 1_000_000
    )

    outcome, _ = await model_tries(host, huge)

    assert isinstance(outcome, Reply)
    assert outcome.content.startswith("\u2400\N{REPLACEMENT CHARACTER}y")
    assert len(outcome.canonical()) < 600_000
    assert outcome.content.endswith("[cut: the reply was larger than allowed]")
    assert [one.call_id for one in outcome.tool_calls] == [f"c{n}" for n in range(len(outcome.tool_calls))]


async def test_a_secret_in_a_reply_is_masked_before_it_is_stored_and_is_never_sent() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    one = tool("metrics_query")
    host = Host([one])
    host.scrub = Redactor(["hunter2-of-the-database"]).text
    asked = calls(call("metrics_query", expression=f"up{{key='{key}'}}"), content="It is hunter2-of-the-database.")

    await host.gather(in_order([asked, reply("")]))

    everything = str(host.memory._contents) + (await host.chronicle()).model_dump_json() + str(one.ran)
    assert key not in everything
    assert "hunter2" not in everything
