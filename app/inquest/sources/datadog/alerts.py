"""One alert out of the fields of a payload: what names it, its labels, and what is only said of it."""

from __future__ import annotations

from inquest.domain.alert import HEARTBEAT_NAMES, Alert, AlertStatus, identity_fingerprint
from inquest.domain.value import Json, Labels
from inquest.sources.datadog.payload import Given, tags
from inquest.sources.datadog.transitions import Title, read_title, severity, transition_of
from inquest.sources.shared.moments import read_epoch
from inquest.sources.shared.texts import read_fingerprint, read_labels, read_text

NO_NAME = "(no title)"
LABELS = {
    "kube_namespace": "namespace",
    "kube_cluster_name": "cluster",
    "cluster_name": "cluster",
    "kube_deployment": "deployment",
    "kube_stateful_set": "statefulset",
    "kube_daemon_set": "daemonset",
    "pod_name": "pod",
    "kube_container_name": "container",
    "container_name": "container",
}
"""Tags that have another name among our labels; `service`, `env`, `host` and all others keep theirs."""
_OWN = frozenset({"alertname", "monitor_id"})
"""Labels that no tag gives."""


def read_alert(given: Given, warnings: list[str]) -> Alert:
    """Give the alert that a notification is about."""
    title = read_title(given["title"])
    transition = transition_of(given["transition"] or title.state, given["type"], warnings)
    date = read_epoch(given["date"], warnings, "date")
    is_over = transition.status is AlertStatus.RESOLVED
    tagged = _tagged(given, title.scope, warnings)
    grade = severity(given, transition, tagged.pop("severity", ""))
    own = {"alertname": _name(given, title, warnings), "monitor_id": read_text(given["monitor"], warnings, "alert_id")}
    named = {**tagged, **{name: value for name, value in own.items() if value}}
    return Alert(
        fingerprint=_fingerprint(given, named, title, warnings),
        name=own["alertname"] or NO_NAME,
        status=transition.status,
        # The date of a notification is when it was sent: a start only for the first, an end only for the last.
        starts_at=date if transition.begins else None,
        ends_at=date if is_over else None,
        labels={**named, "severity": grade} if grade else named,
        annotations=_annotations(given, warnings),
        generator_url=read_text(given["link"], warnings, "link"),
    )


def _name(given: Given, title: Title, warnings: list[str]) -> str:
    monitor = given["monitor"]
    name = read_text(title.name or (f"Datadog monitor {monitor}" if monitor else ""), warnings, "title")
    # Datadog's Watchdog finds anomalies: it is no dead man's switch, as Prometheus's is.
    return f"Datadog {name}" if name in HEARTBEAT_NAMES else name


def _tagged(given: Given, title_scope: str, warnings: list[str]) -> Labels:
    """Give the tags as labels: those that triggered before the others, one that is named like ours before a mapped one."""
    plain: dict[str, Json] = {}
    mapped: dict[str, Json] = {}
    for origin, text in (("alert_scope", given["scope"] or title_scope), ("tags", given["tags"])):
        here: dict[str, str] = {}
        for tag, value in tags(text, warnings, origin):
            if here.setdefault(tag, value) != value:
                warnings.append(f"{origin}: {tag[:64]!a} comes twice, the first is kept")
            (mapped if tag in LABELS else plain).setdefault(LABELS.get(tag, tag), value)
    if given["host"]:
        plain.setdefault("host", given["host"])
    labels = read_labels({**mapped, **plain}, warnings, "tags")
    return {name: value for name, value in labels.items() if name not in _OWN}


def _fingerprint(given: Given, labels: Labels, title: Title, warnings: list[str]) -> str:
    """Name the alert by its cycle, else by monitor and scope, else by all of it that stays the same while it fires."""
    if given["cycle"]:
        return read_fingerprint(given["cycle"])
    for kind in ("monitor", "aggregation"):
        if given[kind]:
            warnings.append(f"alert_cycle_key has no value: {kind} and scope name the alert")
            parts = sorted(part.strip() for part in (given["scope"] or title.scope).strip("{} ").split(","))
            return read_fingerprint(f"{kind}/{given[kind]}/{','.join(part for part in parts if part)}")
    warnings.append("neither alert_cycle_key nor alert_id has a value: title and tags name the alert")
    # Without a title the text is all that keeps two alerts apart.
    text = {} if title.name else {"": read_text(given["text"], warnings, "text")}
    return identity_fingerprint({**labels, **text})


def _annotations(given: Given, warnings: list[str]) -> Labels:
    """Keep what is said of the alert as text, markdown and `%%%` too. None of it names or groups anything."""
    kept = ("status", "metric", "query", "transition", "priority", "scope", "tags", "snapshot")
    texts = {
        "summary": given["title"],
        "description": given["text"] or given["status"],
        **{name: given[name] for name in kept},
    }
    return {name: read_text(text, warnings, name) for name, text in texts.items() if text}
