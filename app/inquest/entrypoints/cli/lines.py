"""One line of progress for each thing that a journal records: pure, and safe for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import singledispatch

from inquest.domain.event import (
    BatchJoined,
    CeilingReached,
    EpisodeChanged,
    Event,
    GenerationAdvanced,
    InterruptAnswered,
    InterruptExpired,
    InterruptRaised,
    LoopSteered,
    Nudge,
    PlanCommitted,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    StageCommitted,
    ToolsWithdrawn,
    TurnCommitted,
)
from inquest.domain.investigation import Delivered, Diagnosed, EvidenceGathered, FactsExtracted, IntegrationsResolved
from inquest.entrypoints.cli.line import Line


def line_of(event: Event) -> Line | None:
    """Give the line of `event`, None for what a reader need not see."""
    said = _said(event.body)
    return None if said is None else Line(event.committed_at, *said)


Said = tuple[str, str]
"""What kind of thing, and its words."""


@singledispatch
def _said(_: object) -> Said | None:
    return None


@_said.register
def _(body: RunStarted) -> Said:
    alert = body.episode.primary.alert
    members = len(body.episode.members)
    severity = f" ({alert.severity})" if alert.severity else ""
    alerts = f"{members} alert{'s' if members != 1 else ''}"
    return "started", f"{alert.name}{severity}, {alerts}; asked: {', '.join(body.models)}"


@_said.register
def _(body: GenerationAdvanced) -> Said:
    before = _BEFORE.get(body.why, "the fence was moved")
    return "take-over", f"{before}: another worker goes on (generation {body.generation}, attempt {body.attempt})"


_BEFORE = {
    "lease_expired": "the last worker went silent",
    "released": "the last worker let go",
    "stage_error": "the last attempt ended by an error",
}


@_said.register
def _(body: InterruptRaised) -> Said:
    return "question", body.prompt


@_said.register
def _(_body: InterruptAnswered) -> Said:
    return "answer", "it goes on with the answer"


@_said.register
def _(_body: InterruptExpired) -> Said:
    return "answer", "nobody answered: it goes on without"


@_said.register
def _(body: PlanCommitted) -> Said:
    plan = body.plan
    return "plan", f"{len(plan.hypotheses)} hypotheses, {len(plan.tools)} tools first, {len(plan.seeds)} calls to begin"


@_said.register
def _(body: TurnCommitted) -> Said:
    # Without calls it concluded, was nudged or failed: what follows says which.
    return f"turn {body.turn}", f"asks {_counted([call.name for call in body.calls])}"


@_said.register
def _(body: BatchJoined) -> Said:
    return "evidence", f"{body.batch}: {_counted([joined.via for joined in body.results])}"


@_said.register
def _(body: EpisodeChanged) -> Said:
    joined, resolved = len(body.joined) + body.unlisted_members, len(body.resolved) + body.unlisted_resolved
    again = len(body.fired_again) + body.unlisted_fired_again
    return "episode", f"{joined} joined, {resolved} resolved" + (f", {again} fire again" if again else "")


@_said.register
def _(body: RunSucceeded) -> Said:
    return "ended", f"succeeded ({body.stop_reason})"


@_said.register
def _(body: RunFailed) -> Said:
    return "ended", f"failed: {body.reason}"


@_said.register
def _(body: RunCancelled) -> Said:
    return "ended", f"cancelled: {body.reason}"


@_said.register
def _(body: StageCommitted) -> Said | None:
    return _said(body.update)


@_said.register
def _(update: IntegrationsResolved) -> Said:
    found = update.integrations
    names = ", ".join(source.name for source in found.sources) or "nothing connected"
    service = f"{found.service.service_id} (by {found.service.how})" if found.service.service_id else "unknown"
    return "sources", f"{names}; service {service}"


@_said.register
def _(update: FactsExtracted) -> Said:
    facts = update.facts
    if facts.noise:
        return "facts", f"noise: {facts.noise}"
    return "facts", f"{facts.alert_name} since {facts.window.anchor:%Y-%m-%d %H:%M:%S} UTC"


@_said.register
def _(update: EvidenceGathered) -> Said:
    found = update.gathered
    why = "the model failed" if found.stop_reason == "model_failed" else found.stop_reason
    return "gathered", f"{why} after {found.turns} turns"


@_said.register
def _(update: Diagnosed) -> Said:
    return "diagnosis", f"{update.diagnosis.verdict}: {update.diagnosis.root_cause}"


@_said.register
def _(_update: Delivered) -> Said:
    return "report", "written, and on its way"


@_said.register
def _(body: LoopSteered) -> Said | None:
    return _said(body.steering)


@_said.register
def _(steering: Nudge) -> Said:
    return "steered", f"nudged ({steering.why})"


@_said.register
def _(steering: ToolsWithdrawn) -> Said:
    return "steered", f"tools withdrawn ({steering.why})"


@_said.register
def _(steering: CeilingReached) -> Said:
    return "steered", f"ceiling {steering.ceiling}: {steering.used:g} of {steering.allowed:g}"


def _counted(names: Sequence[str]) -> str:
    counts = Counter(names)
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items()) or "nothing"
