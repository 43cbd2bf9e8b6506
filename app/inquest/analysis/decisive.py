"""Observations that settle a cause by themselves: a closed list. A model cannot add to it.

Only what a platform itself reports as a state is here. Text that a service (or whoever can reach it) may
write into a log is never decisive, however sure it sounds (threat T05).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.domain.signals import Matrix, Other, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquest.domain.observation import Signal
    from inquest.domain.signals import SignalContent
    from inquest.domain.value import Json, Labels

DECISIVE_STATES: dict[str, str] = {
    "OOMKilled": "resource.memory_limit",
    "Evicted": "resource.node_pressure",
    "DiskPressure": "resource.disk_full",
    "ImagePullBackOff": "platform.image_pull",
    "ErrImagePull": "platform.image_pull",
    "InvalidImageName": "platform.image_pull",
    "CreateContainerConfigError": "configuration.missing_reference",
    "FailedScheduling": "platform.unschedulable",
    "Unschedulable": "platform.unschedulable",
    "NodeNotReady": "platform.node_down",
}
"""State words of Kubernetes (container and pod reasons, node conditions, event reasons) and what they settle."""

STATE_FIELDS = frozenset({"reason", "state", "phase", "condition"})
"""Fields of a workload's record in which a state word counts."""

STATE_METRICS = frozenset(
    {
        "kube_pod_container_status_last_terminated_reason",
        "kube_pod_container_status_terminated_reason",
        "kube_pod_container_status_waiting_reason",
        "kube_pod_status_reason",
    }
)
"""kube-state-metrics series that are 1 while the state in their `reason` label holds."""


def decisive_state(signal: Signal, state: str) -> str | None:
    """Give the cause that `state` settles when a platform reports it, else None."""
    return DECISIVE_STATES.get(state) if signal == "workloads" else None


def decisive_series(labels: Labels, value: float | None) -> str | None:
    """Give the cause that a state metric settles: its `reason` label while the value is above 0."""
    if labels.get("__name__", "") not in STATE_METRICS or not value or value <= 0:
        return None
    return DECISIVE_STATES.get(labels.get("reason", ""))


def decisive_in(signal: Signal, content: SignalContent) -> str | None:
    """Give the first cause that `content` settles by itself, else None."""
    match content:
        case Matrix(series=series):
            found = [decisive_series(one.labels, value) for one in series for _, value in one.points]
        case Vector(samples=samples):
            found = [decisive_series(one.labels, one.value) for one in samples]
        case Other(value=value):
            found = [decisive_state(signal, state) for state in _states(value)]
        case _:
            return None
    return next((cause for cause in found if cause is not None), None)


def _states(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                if name in STATE_FIELDS and isinstance(inner, str):
                    yield inner
                yield from _states(inner)
        case list():
            for inner in value:
                yield from _states(inner)
        case _:
            return
