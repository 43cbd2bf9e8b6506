"""Small typed values for tests: evidence with its content, and the investigation around it.

shelf = Shelf()
e1 = shelf.add(matrix(series([0.01] * 20 + [0.9] * 20, service="checkout")), expression="errors")
shelf.evidence, shelf.contents
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.budget import PlanBudget
from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.episode import Episode, Member
from inquest.domain.evidence import Asked, EvidenceItem
from inquest.domain.failure import Failure
from inquest.domain.hypothesis import Hypothesis
from inquest.domain.investigation import (
    ConnectedSource,
    Facts,
    Gathered,
    Identity,
    Integrations,
    Investigation,
    Origin,
    Plan,
    ServiceGuess,
)
from inquest.domain.observation import Content, Observation, Query, Signal, Truncation
from inquest.domain.signals import ChangeRecord, Changes, LogLine, Logs, Matrix, Series, SignalContent
from inquest.domain.value import Json, epoch_ms
from inquest.domain.window import IncidentWindow, Window, incident_window

T0 = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
"""When the alert began to fire."""
NOW = T0 + timedelta(minutes=30)
STEP = timedelta(seconds=60)
MODEL = "openai/example-1"


def at(minutes: float) -> datetime:
    """Give the moment `minutes` after the alert began to fire."""
    return T0 + timedelta(minutes=minutes)


def window() -> IncidentWindow:
    """Give the window of an incident that fires since T0: [T0 - 2 h, NOW)."""
    return incident_window(firing_since=T0, received_at=T0, ended_at=None, now=NOW)


# ---- content ---------------------------------------------------------------------------------------------


def series(values: list[float | None], *, start: datetime = T0, step: timedelta = STEP, **labels: str) -> Series:
    """Give a series of one value a step from `start` on; `metric=` is its __name__."""
    named = {("__name__" if name == "metric" else name): value for name, value in labels.items()}
    first, distance = epoch_ms(start), int(step.total_seconds() * 1000)
    return Series(labels=named, points=tuple((first + i * distance, value) for i, value in enumerate(values)))


def matrix(*found: Series, step: timedelta = STEP) -> Matrix:
    """Give the answer of a range query."""
    return Matrix(step_ms=int(step.total_seconds() * 1000), series=found)


def logs(*lines: tuple[datetime, str], **labels: str) -> Logs:
    """Give log lines of one stream."""
    return Logs(
        lines=tuple(
            LogLine(time=epoch_ms(moment), time_ns=f"{epoch_ms(moment)}000000", labels=labels, line=line)
            for moment, line in lines
        )
    )


def deployment(change_id: str, moment: datetime, title: str = "Deploy checkout", author: str = "alice") -> ChangeRecord:
    """Give one deployment of checkout."""
    return ChangeRecord(
        change="deployment",
        change_id=change_id,
        title=title,
        author=author,
        time=epoch_ms(moment),
        status="success",
        service="checkout",
    )


def changes(*records: ChangeRecord) -> Changes:
    """Give the answer of a change source."""
    return Changes(changes=records)


# ---- observations ----------------------------------------------------------------------------------------

SOURCES: dict[str, Signal] = {"prometheus": "metrics", "loki": "logs", "gitlab": "changes", "kubernetes": "workloads"}


def observation(
    content: SignalContent,
    *,
    source: str = "prometheus",
    signal: Signal | None = None,
    tool: str = "",
    expression: str = "errors",
    service: str = "checkout",
    time_range: Window | None = None,
    shown_items: int | None = None,
    error: Failure | None = None,
    cursor: str | None = None,
) -> Observation:
    """Give an observation of `content`; with `shown_items` its body is a truncated one."""
    full = content.model_dump(mode="json")
    raw = canonical_json(full)
    items = next((len(value) for value in full.values() if isinstance(value, list)), 1)
    body = full if shown_items is None else _cut(full, shown_items)
    kept = items if shown_items is None else min(shown_items, items)
    return Observation(
        source=source,
        tenant="",
        workspace="main",
        service=service,
        signal=signal or SOURCES.get(source, "metrics"),
        tool=tool or f"{source}_query",
        expression=expression,
        time_range=time_range or window().incident,
        cursor=cursor,
        retrieved_at=NOW,
        content=Content(kind="json" if shown_items is None else "truncated-json", body=body),
        digest=digest_of(raw),
        truncated=shown_items is not None,
        truncation=Truncation(
            original_items=items,
            original_bytes=len(raw),
            kept_items=kept,
            kept_bytes=len(canonical_json(body)),
        ),
        redaction_version=1,
        error=error,
    )


def _cut(full: Json, items: int) -> Json:
    if not isinstance(full, dict):
        return full
    return {name: value[:items] if isinstance(value, list) else value for name, value in full.items()}


@dataclass
class Shelf:
    """Evidence E1, E2 .. in order of `add`, its contents by digest, and the queries that brought it."""

    items: list[EvidenceItem] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    @property
    def evidence(self) -> tuple[EvidenceItem, ...]:
        return tuple(self.items)

    def add(self, content: SignalContent, **about: object) -> EvidenceItem:
        """Admit an observation of `content`; `about` as `observation` takes it."""
        seen = observation(content, **about)  # type: ignore[arg-type]  # passed on as given
        number = len(self.items) + 1
        item = EvidenceItem(
            name=f"E{number}", observation_id=seen.observation_id, effect_key=f"seed/{number}", observation=seen
        )
        self.items.append(item)
        self.contents[seen.digest] = canonical_json(content.model_dump(mode="json"))
        self.asked.append(
            Asked(
                effect_key=item.effect_key,
                query=Query(
                    tool=seen.tool,
                    service_id=seen.service,
                    arguments={"expression": seen.expression},
                    time_range=seen.time_range,
                ),
                source=seen.source,
                signal=seen.signal,
                evidence=(item.name,),
                failure=seen.error,
            )
        )
        return item


# ---- the investigation -----------------------------------------------------------------------------------


def alert(name: str = "CheckoutErrors", *, status: AlertStatus = AlertStatus.FIRING, **labels: str) -> Alert:
    """Give an alert of checkout that fires since T0."""
    return Alert(
        fingerprint=digest_of(name.encode())[7:23],
        name=name,
        status=status,
        starts_at=T0,
        ends_at=None if status is AlertStatus.FIRING else NOW,
        labels={"alertname": name, "service": "checkout", "severity": "critical", **labels},
        annotations={"summary": "Checkout answers with errors"},
    )


def episode(*alerts: Alert) -> Episode:
    """Give an episode with one member per alert."""
    return Episode(
        episode_id="ep-1",
        group_key="g" * 64,
        intake="alertmanager",
        source="alertmanager",
        opened_at=T0,
        members=tuple(
            Member(alert_id=f"a-{number}", alert=one, occurrences=1, first_seen=T0, last_seen=NOW)
            for number, one in enumerate(alerts or (alert(),), start=1)
        ),
    )


def facts(**changed: object) -> Facts:
    """Give the facts of the alert."""
    return Facts(
        alert_name="CheckoutErrors",
        severity="critical",
        alert_source="alertmanager",
        service="checkout",
        namespace="shop",
        workload="checkout",
        error_message="Checkout answers with errors",
        expression="errors > 0.05",
        window=window(),
    ).but(**changed)


def integrations() -> Integrations:
    """Give three healthy sources and a service of the catalogue."""
    return Integrations(
        sources=tuple(
            ConnectedSource(name=name, type=name, signals=(signal,), tools=(f"{name}_query",), health="ok")
            for name, signal in SOURCES.items()
            if name != "kubernetes"
        ),
        service=ServiceGuess(
            service_id="checkout", how="catalogue", namespace="shop", workload="checkout", depends_on=("payments",)
        ),
    )


def investigation(**changed: object) -> Investigation:
    """Give an investigation whose loop has ended; the later sections are None unless given."""
    deadline = at(10)
    whole = Investigation(
        identity=Identity(workspace_id="main", task_id="ep-1", run_id="inv-1", session_id="alertmanager"),
        episode=episode(),
        origin=Origin(intake="alertmanager", source="alertmanager"),
        models=(MODEL,),
        started_at=T0,
        deadline_at=deadline,
        integrations=integrations(),
        facts=facts(),
        plan=Plan(
            objective="Find what made CheckoutErrors fire.",
            hypotheses=(Hypothesis(name="h1", text="a change broke it", refuted_by="no change", category="change"),),
            tools=(),
            seeds=(),
            budget=PlanBudget(max_model_turns=20, max_connector_effects=60, deadline_at=deadline),
        ),
        gathered=Gathered(stop_reason="concluded", turns=3, conclusion="A deployment broke checkout."),
    )
    return whole.but(**changed)
