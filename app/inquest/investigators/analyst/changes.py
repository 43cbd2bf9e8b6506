"""What was changed where the trouble is, as the answers of the change sources tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.environments import may_be_there
from inquest.analysis.suspects import Suspect, has_run, suspects
from inquest.investigators.analyst.exhibit import Exhibit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inquest.domain.signals import ChangeRecord
    from inquest.ports import LoopView


class SuspectChange(NamedTuple):
    """A suspect and where its record is."""

    exhibit: Exhibit
    pointer: str
    suspect: Suspect


def suspect_changes(
    view: LoopView, shown: Iterable[Exhibit], onset_ms: int | None, slack_ms: int
) -> tuple[SuspectChange, ...]:
    """Rank the changes shortly before the onset, most suspect first, each once."""
    integrations = view.investigation.integrations
    if onset_ms is None or integrations is None:
        return ()
    found: list[SuspectChange] = []
    for one in shown:
        places = {change: pointer for pointer, change in _changes(view, one)}
        ranked = suspects(
            places,
            onset_ms=onset_ms,
            service=integrations.service.service_id,
            depends_on=integrations.service.depends_on,
            slack_ms=slack_ms,
        )
        found.extend(SuspectChange(one, places[suspect.change], suspect) for suspect in ranked)
    best = sorted(found, key=lambda one: (-one.suspect.score, one.suspect.before_ms))
    return tuple({one.suspect.change.change_id: one for one in reversed(best)}.values())[::-1]


def changes_that_ran(view: LoopView, shown: Iterable[Exhibit]) -> tuple[ChangeRecord, ...]:
    """Give what ran in all that was asked, suspect or not, in order of time, each once."""
    found = {change.change_id: change for one in shown for _, change in _changes(view, one) if has_run(change)}
    return tuple(sorted(found.values(), key=lambda change: (change.time, change.change_id)))


def _changes(view: LoopView, exhibit: Exhibit) -> Iterator[tuple[str, ChangeRecord]]:
    """Give the changes of an answer that may act where the alert fires, each with its place."""
    labels = view.investigation.episode.primary.alert.labels
    if exhibit.content.kind == "changes":
        for number, change in enumerate(exhibit.content.changes):
            if may_be_there(change.environment, labels):
                yield f"/changes/{number}", change
