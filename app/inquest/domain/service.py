"""The service catalogue, and how an alert's labels name a service."""

from __future__ import annotations

from pydantic import Field

from inquest.domain.investigation import ServiceGuess
from inquest.domain.value import Labels, Value

SERVICE_LABELS = ("service", "app", "app_kubernetes_io_name", "application", "job", "deployment", "container")
"""Labels that conventionally name a service, best first."""
WORKLOAD_LABELS = ("deployment", "statefulset", "daemonset", "workload", "app")


class Service(Value):
    """An entry of the catalogue. `matchers` selects the service at each type of source."""

    name: str
    match: Labels
    matchers: dict[str, Labels] = Field(default_factory=dict)
    namespace: str = ""
    workload: str = ""
    repository: str = ""
    depends_on: tuple[str, ...] = ()


def entries_of(labels: Labels, catalogue: tuple[Service, ...]) -> tuple[Service, ...]:
    """Give the entries that `labels` may be about, by name: the most specific of those whose `match` holds.

    More than one: the catalogue does not decide between them.
    """
    matching = [entry for entry in catalogue if all(labels.get(name) == value for name, value in entry.match.items())]
    most = max((len(entry.match) for entry in matching), default=0)
    return tuple(sorted((entry for entry in matching if len(entry.match) == most), key=lambda entry: entry.name))


def resolve_service(labels: Labels, catalogue: tuple[Service, ...], *, named: str = "") -> ServiceGuess:
    """Say which service `labels` are about, and how that is known.

    The catalogue decides where an entry's `match` holds, the most specific one first; where it has several, the one
    that a human `named`, else the last by name. Without one, the first conventional label names it: a guess, shown as
    such, that a label search proves or not.
    """
    matching = entries_of(labels, catalogue)
    if matching:
        return _from_catalogue(next((entry for entry in matching if entry.name == named), matching[-1]))
    label = next((name for name in SERVICE_LABELS if labels.get(name)), None)
    if label is None:
        return ServiceGuess(service_id="", how="none", namespace=labels.get("namespace", ""))
    scope = {name: labels[name] for name in ("namespace", label) if labels.get(name)}
    return ServiceGuess(
        service_id=labels[label],
        how="label" if label == "service" else "convention",
        namespace=labels.get("namespace", ""),
        workload=next((labels[name] for name in WORKLOAD_LABELS if labels.get(name)), ""),
        matchers={"prometheus": scope, "loki": scope},
    )


def dependency_matchers(service: ServiceGuess, catalogue: tuple[Service, ...]) -> dict[str, dict[str, Labels]]:
    """Say which labels select each service that `service` calls, by its name, then by type of source.

    Its entry of the catalogue decides. Without one it is looked for where `service` itself is, under its own
    name: a guess that a label search proves or not. What cannot even be guessed is left out.
    """
    entries = {entry.name: entry for entry in catalogue}
    found = {
        name: _entry_matchers(entries[name]) if name in entries else _beside(service, name)
        for name in service.depends_on
    }
    return {name: matchers for name, matchers in found.items() if matchers}


def _beside(service: ServiceGuess, name: str) -> dict[str, Labels]:
    """Put `name` where the service's own name stands in its matchers; nothing where it does not."""
    return {
        kind: {label: name if value == service.service_id else value for label, value in labels.items()}
        for kind, labels in service.matchers.items()
        if service.service_id in labels.values()
    }


def _entry_matchers(entry: Service) -> dict[str, Labels]:
    return {kind: entry.matchers.get(kind) or entry.match for kind in ("prometheus", "loki")}


def _from_catalogue(entry: Service) -> ServiceGuess:
    return ServiceGuess(
        service_id=entry.name,
        how="catalogue",
        namespace=entry.namespace,
        workload=entry.workload,
        repository=entry.repository,
        depends_on=entry.depends_on,
        matchers=_entry_matchers(entry),
    )
