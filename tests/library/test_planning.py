"""The plan that a host may take is the one that stage 3 would make."""

from __future__ import annotations

from datetime import timedelta

from inquest.domain.event import PlanCommitted, StageCommitted
from inquest.domain.investigation import FactsExtracted, IntegrationsResolved
from inquest.library import propose_plan
from inquest.library.given import service_of
from tests.builders import NOW, facts
from tests.loop_host import SyntheticConnector
from tests.runtime.whole_runs import WholeRuns, sources

DEADLINE = NOW + timedelta(minutes=10)


async def test_it_is_what_a_worker_plans_from_the_same_facts() -> None:
    worker = WholeRuns()
    await worker.run()
    (committed,) = await worker.bodies(PlanCommitted)
    staged = [body.update for body in await worker.bodies(StageCommitted)]
    (found,) = [update.facts for update in staged if isinstance(update, FactsExtracted)]
    (resolved,) = [update.integrations for update in staged if isinstance(update, IntegrationsResolved)]

    plan = propose_plan(
        found, [worker.connector], deadline_at=committed.plan.budget.deadline_at, service=resolved.service
    )

    assert plan == committed.plan


def test_the_same_arguments_give_the_same_plan_and_ask_nothing() -> None:
    connector = SyntheticConnector(sources())

    plans = [propose_plan(facts(), [connector], deadline_at=DEADLINE) for _ in range(2)]

    assert plans[0] == plans[1]
    assert sum(len(one.ran) for one in connector.tools) == 0


def test_ceilings_are_the_host_s_and_seeds_keep_to_them() -> None:
    connector = SyntheticConnector(sources())

    plan = propose_plan(facts(), [connector], deadline_at=DEADLINE, max_model_turns=3, max_connector_effects=2)

    assert (plan.budget.max_model_turns, plan.budget.max_connector_effects) == (3, 2)
    assert [seed.key for seed in plan.seeds] == ["seed/1", "seed/2"]


def test_a_service_is_selected_by_the_label_that_names_it() -> None:
    by_label = service_of(facts(labels={"app": "checkout", "namespace": "shop"}))
    by_name = service_of(facts(labels={"app": "something else"}))
    nobody = service_of(facts(service="", labels={"app": "checkout"}))

    assert by_label.matchers["loki"] == {"namespace": "shop", "app": "checkout"}
    assert by_name.matchers["loki"] == {"namespace": "shop", "service": "checkout"}
    assert (nobody.service_id, nobody.matchers) == ("", {})
