"""One claim on the real store: what the journal has fixed holds, whatever the configuration says today."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from typing_extensions import override

from inquest.bootstrap import claiming
from inquest.bootstrap.reporting import Reporting
from inquest.domain.delivery import DeliveryClaimed, DeliveryFence, RevisionKind
from inquest.domain.event import RunFailed, RunStarted, RunSucceeded, StageCommitted
from inquest.domain.investigation import Diagnosed
from inquest.domain.projection import NOTHING_REBUILT
from inquest.domain.transcript import ModelRequest, Reply, SystemText
from inquest.errors import NotFound, ReplayMismatch
from inquest.models.scripted import Line, ScriptedModel
from inquest.ports import Claimed
from inquest.runtime import pipeline
from inquest.runtime.ends import ATTEMPTS_USED_UP
from inquest.runtime.replay import replay
from inquest.runtime.unreadable import REASON
from inquest.store.journal import PostgresJournal
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import PostgresSweep
from tests.bootstrap.installations import Installation
from tests.loop_host import reply
from tests.store.builders import NOON
from tests.store.door import Door, firing, resolved

MODEL = {"names": ["openai/first"], "context_window_tokens": 100_000}


class Dying(ScriptedModel):
    """A model whose worker dies while it asks."""

    @override
    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:
        self.requests.append(request)
        raise asyncio.CancelledError


def system_texts(requests: Sequence[ModelRequest]) -> list[str]:
    return [part.text for one in requests for part in one.messages if isinstance(part, SystemText)]


def said(*lines: Line) -> ScriptedModel:
    return ScriptedModel(lines or [reply("It broke.")])


async def begun_with_a_model(door: Door, folder: Path) -> tuple[Installation, str, ScriptedModel]:
    """Let a worker die in the first turn of an investigation whose start names a model."""
    installation = Installation(door, folder, model=MODEL)
    opened = await installation.open()
    dying = Dying([reply("-")])
    with pytest.raises(asyncio.CancelledError):
        await installation.run({"default": dying})
    return installation, opened, dying


async def test_the_analyst_investigates_where_no_model_is_configured(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open()

    await installation.run()

    events = await installation.events(opened)
    assert isinstance(events[0].body, RunStarted)
    assert (events[0].body.models, events[0].body.prompts) == (("analyst",), {})
    assert isinstance(events[-1].body, RunSucceeded)
    assert installation.value("select status from investigation") == "succeeded"


async def test_a_resumed_run_asks_with_the_models_and_prompts_of_its_start(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, opened, dying = await begun_with_a_model(door, tmp_path)
    (tmp_path / "prompts").mkdir()
    for name in ("investigate", "diagnose"):
        (tmp_path / "prompts" / f"{name}.md").write_text("Another prompt.")
    monkeypatch.setattr(claiming, "config_dir", lambda: tmp_path)
    today = Installation(door, tmp_path, model={**MODEL, "names": ["openai/second"]})
    model = said()

    await today.run({"default": model})

    assert {one.models for one in model.requests} == {("openai/first",)}
    assert model.requests[0] == dying.requests[0]
    assert not any("Another prompt." in text for text in system_texts(model.requests))
    assert isinstance((await today.events(opened))[-1].body, RunSucceeded)


async def test_a_new_run_asks_with_todays_models_and_prompts(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts").mkdir()
    for name in ("investigate", "diagnose"):
        (tmp_path / "prompts" / f"{name}.md").write_text(f"Do {name}.")
    monkeypatch.setattr(claiming, "config_dir", lambda: tmp_path)
    installation = Installation(door, tmp_path, model=MODEL)
    await installation.open()
    model = said()

    await installation.run({"default": model})

    assert set(system_texts(model.requests)) == {"Do investigate.", "Do diagnose."}


async def test_a_run_whose_model_is_no_longer_configured_ends_degraded(door: Door, tmp_path: Path) -> None:
    _, opened, _ = await begun_with_a_model(door, tmp_path)
    today = Installation(door, tmp_path)

    await today.run()

    (diagnosis,) = [
        event.body.update.diagnosis
        for event in await today.events(opened)
        if isinstance(event.body, StageCommitted) and isinstance(event.body.update, Diagnosed)
    ]
    assert "no model is configured any more" in diagnosis.degraded
    assert diagnosis.author == "analyst"


class Dear(ScriptedModel):
    """A model whose tokens cost something."""

    @override
    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        return 10 * (input_tokens + output_tokens)


async def test_without_dollars_no_model_is_asked_and_the_analyst_concludes(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path, model=MODEL, budgets={"max_usd": 0})
    opened = await installation.open()
    model = Dear([reply("It broke.")])

    await installation.run({"default": model})

    assert model.requests == []
    (diagnosis,) = [
        event.body.update.diagnosis
        for event in await installation.events(opened)
        if isinstance(event.body, StageCommitted) and isinstance(event.body.update, Diagnosed)
    ]
    assert "no budget was left to ask it (max_usd: 0 of 0 used)" in diagnosis.degraded


async def test_a_run_that_the_analyst_began_stays_the_analysts(door: Door, tmp_path: Path) -> None:
    opened = await Installation(door, tmp_path).open()
    await held_by(Installation(door, tmp_path))
    today, model = Installation(door, tmp_path, model=MODEL), said()

    await today.run({"default": model})

    assert model.requests == []
    assert isinstance((await today.events(opened))[-1].body, RunSucceeded)


async def test_noise_moves_its_member_from_opened_to_noise_and_has_no_report(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open("InquestTest")
    assert door.accounts("default") == {"accepted": 1, "opened": 1}

    await installation.run()

    assert door.accounts("default") == {"accepted": 1, "noise": 1}
    assert installation.value("select status from investigation") == "succeeded"
    assert door.rows("select key from effect") == []
    kinds = {row["kind"] for row in door.rows("select kind from delivery")}
    assert kinds in (set(), {"received", "noise"})
    with pytest.raises(NotFound):
        await Reporting(door.database).form("default", opened, "md")


async def test_one_whose_attempts_are_used_up_ends_failed_with_a_report_and_replays(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open()
    claimed = await installation.claim()

    await installation.claiming().conclude_failed(claimed, installation.guard(claimed))

    assert installation.value("select status from investigation") == "failed"
    assert "failed" in door.column("select kind from delivery")
    report = (await Reporting(door.database).form("default", opened, "md")).decode()
    assert "every attempt ended by an error" in report
    chronicle = await PostgresJournal(door.database, "default").load(opened)
    replay(chronicle, {})


async def test_one_that_was_cancelled_before_it_began_has_a_report_that_says_so(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open()
    door.rows("update investigation set status = 'deferred', not_before = clock_timestamp() + interval '1 day'")
    door.rows("update episode set ended_at = clock_timestamp() - interval '2 hours'")
    await PostgresSweep(door.database, ClaimLimits()).expire_deferred()

    report = (await Reporting(door.database).form("default", opened, "md")).decode()
    assert "cancelled" in report
    assert "deferred until an hour after its episode had ended" in report


async def test_a_source_is_known_as_failing_in_the_workspace_whose_it_is(door: Door, tmp_path: Path) -> None:
    installation = Installation(
        door, tmp_path, integrations={"prometheus": {"type": "prometheus", "url": "http://127.0.0.1:9"}}
    )
    await installation.open()
    claimed = await installation.claim()
    health = {("default", "prometheus"): "failing", ("other", "prometheus"): "ok"}

    held = await claiming.Claiming(**{**installation.claiming().__dict__, "health": health})._open(
        claimed, installation.guard(claimed)
    )

    assert held.kit.health == {"prometheus": "failing"}
    for connector in held.kit.connectors:
        await connector.aclose()


async def begun(installation: Installation) -> Claimed:
    """Let one owner begin, and give the claim of the next."""
    await held_by(installation)
    return await installation.claim()


async def held_by(installation: Installation) -> claiming._Claim:
    """Let an owner begin, and give what it holds."""
    claimed = await installation.claim()
    held = await installation.claiming()._open(claimed, installation.guard(claimed))
    await pipeline.begin(held.acts, held.kit, held.opened)
    return held


async def test_a_journal_that_cannot_be_loaded_ends_failed_and_its_report_says_so(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open()
    claimed = await begun(installation)
    door.rows("set session_replication_role = replica")
    door.rows("update event set body = body || '\\x20' where seq = 1")
    door.rows("update investigation set spend = '{\"usd_micros\": 7}'")

    await installation.claiming().conclude_failed(claimed, installation.guard(claimed))

    assert installation.value("select status from investigation") == "failed"
    assert installation.value("select (spend ->> 'usd_micros')::int from investigation") == 7
    (note,) = door.column("select note from delivery where kind = 'failed'")
    assert note == REASON
    reporting = Reporting(door.database)
    assert REASON in (await reporting.form("default", opened, "md")).decode()
    built = await reporting.build(failed_revision(opened))
    assert (built.report.note, built.report.terminal_digest, built.contents) == (REASON, None, {})
    assert built.report.spend.usd_micros == 7
    assert built.report.ended_at is not None


async def test_a_journal_that_was_changed_after_a_success_has_no_report(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    opened = await installation.open()
    await installation.run()
    door.rows("set session_replication_role = replica")
    door.rows("update event set body = body || '\\x20' where seq = 1")

    with pytest.raises(ReplayMismatch):
        await Reporting(door.database).form("default", opened, "md")


async def test_one_whose_prompts_are_gone_ends_failed_with_the_evidence_so_far(door: Door, tmp_path: Path) -> None:
    installation, opened, _ = await begun_with_a_model(door, tmp_path)
    started = (await installation.events(opened))[0].body
    assert isinstance(started, RunStarted)
    door.rows("set session_replication_role = replica")
    door.rows("delete from content where digest = any (%s)", list(started.prompts.values()))
    claimed = await installation.claim()

    with pytest.raises(NotFound):
        await installation.claiming().run(claimed, installation.guard(claimed))
    await installation.claiming().conclude_failed(claimed, installation.guard(claimed))

    last = (await installation.events(opened))[-1].body
    assert isinstance(last, RunFailed)
    assert (last.reason, last.projection_digest == NOTHING_REBUILT) == (ATTEMPTS_USED_UP, False)
    assert "every attempt ended by an error" in (await Reporting(door.database).form("default", opened, "md")).decode()


def failed_revision(investigation_id: str) -> DeliveryClaimed:
    return DeliveryClaimed(
        fence=DeliveryFence(target_id="t", owner_id="owner-1", generation=1),
        investigation_id=investigation_id, episode_id="e", workspace="default", destination="reports", revision=2,
        kind=RevisionKind.FAILED, note=REASON, step="send", attempts=0, reference=None, planned_at=NOON,
    )  # fmt: skip


async def test_an_earlier_journal_that_cannot_be_read_costs_a_report_only_its_cause(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    earlier = await installation.open("Earlier")
    await installation.run()
    opened = await installation.open()
    await installation.run()
    door.rows("update episode set previous_episode_id = (select episode_id from investigation where"
              " investigation_id = %s) where episode_id = (select episode_id from investigation where"
              " investigation_id = %s)", earlier, opened)  # fmt: skip
    door.rows("set session_replication_role = replica")
    door.rows("update event set body = body || '\\x20' where seq = 1 and investigation_id = %s", earlier)

    built = await Reporting(door.database).build(failed_revision(opened))

    assert [(one.investigation_id, one.root_cause) for one in built.report.earlier] == [(earlier, "")]


async def test_a_run_sees_the_members_that_stopped_and_those_that_fire_again(door: Door, tmp_path: Path) -> None:
    installation = Installation(door, tmp_path)
    (intake,) = installation.workspaces["default"].intakes
    await door.post(*(firing(pod=pod) for pod in "ab"), into=intake)
    held = await held_by(installation)
    ids = {row["pod"]: row["alert_id"] for row in door.rows("select labels ->> 'pod' as pod, alert_id from alert")}
    looks = []
    for alerts in ([resolved(pod="a"), resolved(pod="b")], [firing(pod="a")]):
        await door.post(*alerts, into=intake)
        change = await held.kit.episode_changes()
        assert change is not None
        looks.append((sorted(change.resolved), change.fired_again))
        await held.acts.append(change)

    assert looks == [(sorted(ids.values()), ()), ([], (ids["a"],))]
