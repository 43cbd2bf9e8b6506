"""The analyst over incidents of other names, units and shapes than the recording's: right, or honestly inconclusive.

False blame is the worst that it can do: a deployment that only happened before is never the cause.
"""

from __future__ import annotations

import math

import pytest

from inquest.domain.claim import ChangeEvent
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.scenarios.server import RECORDED_GITLAB_TOKEN
from tests.investigators.made_incidents import CALLED, SERVICE, Incident, ramp, step

FAILURES = f'sum(rate(rpc_failures_total{{app="{SERVICE}"}}[2m])) > 1'
NOBODY = (Verdict.INCONCLUSIVE, "other.unknown", "")
ITSELF, THE_OTHER = f"service/-/{SERVICE}", f"service/-/{CALLED}"


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the demo's configuration reads."""
    monkeypatch.setenv("INQUEST_DEMO_TOKEN", "a-token-of-the-intake")
    monkeypatch.setenv("INQUEST_DEMO_GITLAB_TOKEN", RECORDED_GITLAB_TOKEN)


def failing(expr: str = FAILURES, **how: object) -> Incident:
    """Requests fail from minute 0 on; there are as many as ever, and the service logs what it always does."""
    made = Incident(expr, **how)  # type: ignore[arg-type]  # passed on as given
    made.counter("rpc_failures_total", step(0.1, 30.0)).counter("rpc_handled_total", step(200.0, 200.0))
    return made.logged('level=info msg="request served" n={}')


def full(made: Incident, begins: float = -2.0) -> Incident:
    """Let the threads of the service be used up at minute 0."""
    made.gauge("worker_threads_busy", ramp(8.0, 64.0, begins, 0.0), noise=0.0)
    return made.gauge("worker_threads_max", step(64.0, 64.0), noise=0.0)


def ending(found: Diagnosis) -> tuple[Verdict, str, str]:
    """Give what it concludes; every claim of the analyst holds, and none is more than the evidence carries."""
    assert (found.non_validated_claims, found.downgraded) == ((), "")
    return found.verdict, found.root_cause_category, found.affected_object


def blamed(found: Diagnosis) -> list[str]:
    if found.verdict is not Verdict.CAUSE_FOUND:
        return []
    return [claim.change_id for claim in found.validated_claims if isinstance(claim, ChangeEvent)]


# ---- what is the cause ---------------------------------------------------------------------------------


async def test_a_resource_that_ran_out_without_any_change_is_the_cause() -> None:
    assert ending(await full(failing()).diagnosed()) == (Verdict.CAUSE_FOUND, "resource.threads_exhausted", ITSELF)


async def test_a_leak_since_a_deployment_is_seen_from_before_it_on_and_its_claims_hold_in_bytes() -> None:
    made = failing().gauge("process_memory_bytes", ramp(4e8, 2e9, -43, 0), noise=0.005)
    made.gauge("process_memory_limit_bytes", step(2e9, 2e9), noise=0.0)

    found = await made.deployed(SERVICE, -45).diagnosed()

    assert ending(found) == (Verdict.CAUSE_FOUND, "change.deployment", ITSELF)


async def test_what_it_calls_became_slow_by_its_histogram() -> None:
    made = full(failing()).histogram("call_duration_seconds", step(0.1, 2.0, -3), of=CALLED)

    assert ending(await made.diagnosed()) == (Verdict.CAUSE_FOUND, "dependency.slow", THE_OTHER)


async def test_of_two_faults_the_one_that_was_there_first_and_has_a_change_behind_it_is_blamed() -> None:
    made = full(failing()).histogram("call_duration_seconds", step(0.1, 2.0, -6), of=CALLED)

    assert ending(await made.deployed(CALLED, -7).diagnosed()) == (Verdict.CAUSE_FOUND, "change.deployment", THE_OTHER)


async def test_a_flood_from_its_callers_is_blamed_and_not_the_deployment_of_what_slows_down_under_it() -> None:
    made = Incident(FAILURES).counter("rpc_failures_total", step(0.1, 30.0)).logged("level=info msg=served n={}")
    made.counter("rpc_handled_total", step(200.0, 2_000.0, -3))
    made.histogram("call_duration_seconds", step(0.1, 0.5, -1.5), of=CALLED).deployed(CALLED, -9)

    found = await full(made, begins=-2.5).diagnosed()

    assert ending(found) == (Verdict.CAUSE_FOUND, "traffic.surge", ITSELF)


# ---- who is not ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("minute", [-55, -40, -20, 2])
async def test_a_deployment_long_before_or_after_is_not_blamed_for_what_ran_out(minute: float) -> None:
    found = await full(failing(depends_on=())).deployed(SERVICE, minute).diagnosed()

    assert ending(found)[1] == "resource.threads_exhausted"
    assert blamed(found) == []


async def test_new_lines_at_the_trouble_do_not_connect_it_with_a_deployment_an_hour_ago() -> None:
    made = failing().logged('level=error msg="connection refused" host=pg-7', every_s=5, begins=0)

    assert (await made.deployed(SERVICE, -55).diagnosed()).verdict is Verdict.CONTRIBUTING_ONLY


@pytest.mark.parametrize(("environment", "is_blamed"), [("staging", False), ("production", True)])
async def test_a_deployment_to_staging_is_not_blamed(environment: str, *, is_blamed: bool) -> None:
    made = failing().logged('level=error msg="cannot decode frame"', every_s=5, begins=0)

    assert bool(blamed(await made.deployed(SERVICE, -4, environment=environment).diagnosed())) is is_blamed


async def test_among_deployments_every_ten_minutes_none_is_blamed() -> None:
    made = full(failing())
    for minute in range(-118, 0, 10):
        made.deployed(SERVICE, minute)

    assert blamed(await made.diagnosed()) == []


async def test_a_deployment_of_something_else_is_ruled_out() -> None:
    found = await full(failing()).deployed("search", -3).diagnosed()

    assert blamed(found) == []
    assert [one.hypothesis for one in found.ruled_out] == ["the deployment of search is the cause"]


async def test_what_ran_out_after_the_symptom_did_not_bring_it() -> None:
    made = failing().gauge("worker_threads_busy", step(8, 64, 3.0), noise=0.0)

    found = await made.gauge("worker_threads_max", step(64, 64), noise=0.0).diagnosed()

    assert ending(found) == NOBODY


# ---- what shows nothing --------------------------------------------------------------------------------


def wave(minute: float) -> float:
    return 100.0 * (1 + 0.6 * math.sin(2 * math.pi * (minute + 400) / 1_440))


def gaps(minute: float) -> float | None:
    return (
        float("nan") if minute < -20 and int(minute) % 3 else 0.2 if minute < 0 else (60.0, math.inf)[int(minute) % 2]
    )


@pytest.mark.parametrize(
    "made",
    [
        Incident('queue_depth{app="ledger"} > 5').gauge("queue_depth", step(5, 5), noise=1.0),
        Incident('certificate_valid{app="ledger"} == 0').gauge("certificate_valid", step(0, 0), noise=0.0),
        Incident('sum(rate(jobs_total{app="ledger"}[2m])) > 150').counter("jobs_total", wave),
        Incident('sum(rate(jobs_total{app="ledger"}[2m])) > 1').counter("jobs_total", step(9, 9), resets=[-30, -3.2]),
        Incident(FAILURES).counter("rpc_failures_total", lambda minute: None if minute < -2 else 30.0),
        Incident('delay_seconds{app="ledger"} > 5').gauge("delay_seconds", gaps),
        Incident(FAILURES.replace("2m", "8m"), scrape_s=120).counter("rpc_failures_total", step(0.1, 30.0)),
    ],
    ids=["noise", "constant", "a day's wave", "counter resets", "no baseline", "NaN and Inf", "sparse scrapes"],
)
async def test_where_only_the_symptom_is_seen_or_not_even_that_nobody_is_blamed(made: Incident) -> None:
    found = await made.logged("level=info msg=served n={}").deployed(SERVICE, -5).diagnosed()

    assert ending(found)[0] in {Verdict.INCONCLUSIVE, Verdict.CONTRIBUTING_ONLY}
    assert found.affected_object == ""
