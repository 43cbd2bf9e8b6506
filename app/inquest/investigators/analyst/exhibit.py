"""Evidence as the analyst reads it: which query an item answers, its series, and citations into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.onset import Onset, find_onset, split_baseline
from inquest.domain.claim import Citation
from inquest.domain.value import epoch_ms
from inquest.stages.quoting import quote_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquest.domain.evidence import Asked, EvidenceItem
    from inquest.domain.signals import Point, SignalContent
    from inquest.domain.value import Json, Labels
    from inquest.domain.window import IncidentWindow
    from inquest.ports import LoopView


class Exhibit(NamedTuple):
    """An admitted item with its full content and the query that it answers."""

    item: EvidenceItem
    content: SignalContent
    asked: Asked

    def cite(self, pointer: str, value: Json) -> Citation:
        """Cite the value at `pointer`, quoted as code quotes it."""
        return Citation(
            evidence=self.item.name,
            observation_id=self.item.observation_id,
            content_digest=self.item.observation.digest,
            pointer=pointer,
            quoted=quote_of(value),
        )


def exhibits(view: LoopView) -> Iterator[Exhibit]:
    """Give what was admitted, in order, where its full content is at hand."""
    items = {item.name: item for item in view.evidence}
    for asked in view.asked:
        for name in asked.evidence:
            item = items.get(name)
            content = None if item is None else view.contents.get(item.observation.digest)
            if item is not None and content is not None:
                yield Exhibit(item, content, asked)


class Course(NamedTuple):
    """A series over what was asked, cut into what was normal and what came then.

    The cut is that of `stages.claim_series.course`, so that a claim about it is checked on the same points.
    `cited` names the whole series.
    """

    subject: str
    labels: Labels
    points: tuple[Point, ...]
    baseline: tuple[Point, ...]
    cited: Citation
    onset: Onset | None
    step_ms: int

    @property
    def away(self) -> float:
        """Give how many spreads it went away, 0 where it did not."""
        return self.onset.spreads_away if self.onset else 0.0


def courses(exhibit: Exhibit, window: IncidentWindow, subject: str) -> Iterator[Course]:
    """Give every series of a range query's answer as a course about `subject`."""
    if exhibit.content.kind != "matrix":
        return
    start = epoch_ms(window.incident.start)
    for number, series in enumerate(exhibit.content.series):
        baseline, points = split_baseline(series.points, start)
        yield Course(
            subject=subject,
            labels=series.labels,
            points=tuple(points),
            baseline=tuple(baseline),
            cited=exhibit.cite(f"/series/{number}", {"labels": dict(series.labels)}),
            onset=find_onset(points, baseline),
            step_ms=exhibit.content.step_ms,
        )


def strongest(found: Sequence[Course]) -> Course | None:
    """Give the course that went furthest away; the first of equals, None of none."""
    return max(found, key=lambda course: course.away, default=None)
