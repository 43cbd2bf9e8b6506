"""Checks of claims about series: a value, a change, an onset, a correlation. Each recomputes what is said."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.correlation import MIN_COMMON_SAMPLES, spearman
from inquest.analysis.onset import MIN_BASELINE_POINTS, extreme_from, find_onset, split_baseline, step_of
from inquest.domain.value import epoch_ms, from_epoch_ms, rfc3339
from inquest.stages.exhibits import NotShown
from inquest.stages.quoting import as_written, is_rounding_of, number_in
from inquest.stages.units import carried_units, carries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.analysis.onset import Onset
    from inquest.domain.claim import Change, CorrelatesInTime, ValueAt
    from inquest.domain.claim import Onset as OnsetClaim
    from inquest.domain.signals import Point
    from inquest.domain.value import Json
    from inquest.domain.window import IncidentWindow
    from inquest.stages.exhibits import Cited

MIN_CORRELATION = 0.5
"""A claim that asks for less says nothing: any two series of one incident reach it."""
ONE_SECOND = timedelta(seconds=1)


def check_value_at(claim: ValueAt, cited: Sequence[Cited]) -> None:
    """Check that the cited sample has the value, at the time, in the unit that are claimed. Raises NotShown."""
    one = cited[0]
    place = one.place
    value = number_in(place.value if place.point is None else place.point[1])
    if place.is_series or value is None:
        raise NotShown("the citation leads to no sample with a value")
    if not is_rounding_of(as_written(claim.value), value):
        raise NotShown(f"the value there is {value}, not {claim.value!r}", contradicted=True)
    check_moment(claim.at, place.moments, "the sample")
    check_unit(claim.unit, one)


def check_change(claim: Change, cited: Sequence[Cited], window: IncidentWindow | None) -> None:
    """Check `before` as the median of the baseline and `after` as the extreme from `at` on. Raises NotShown."""
    points, baseline = course(cited, window)
    at = epoch_ms(claim.at)
    before = [value for _, value in baseline if value is not None]
    after = [(time, value) for time, value in points if value is not None and time >= at]
    if len(before) < MIN_BASELINE_POINTS:
        raise NotShown("the baseline has too few samples to say what was before")
    if not after:
        raise NotShown("the series has no sample at or after that time")
    middle = median(before)
    extreme = extreme_from(after, middle)
    for said, there, what in ((claim.before, middle, "median before"), (claim.after, extreme, "extreme after")):
        if not is_rounding_of(as_written(said), as_written(there)):
            raise NotShown(f"the {what} it is {there:g}, not {said!r}", contradicted=True)
    if claim.before == claim.after:
        raise NotShown("before and after are the same: no change", contradicted=True)
    check_unit(claim.unit, cited[0])


def check_onset(claim: OnsetClaim, cited: Sequence[Cited], window: IncidentWindow | None) -> None:
    """Check that `analysis.onset` finds the onset there, to one step of the series. Raises NotShown."""
    found = onset_of(cited, window)
    check_near(claim.at, from_epoch_ms(found.at_ms), series_step(cited[0]), "the series leaves its baseline at")


def onset_of(cited: Sequence[Cited], window: IncidentWindow | None) -> Onset:
    """Find the onset of the cited series against its baseline. Raises NotShown when there is none."""
    points, baseline = course(cited, window)
    found = find_onset(points, baseline)
    if found is None:
        raise NotShown("the cited series never leaves its baseline for long", contradicted=True)
    return found


def check_correlates(claim: CorrelatesInTime, cited: Sequence[Cited]) -> float:
    """Check |Spearman| >= at_least between two series, and give the coefficient. Raises NotShown."""
    if len(cited) != 2:  # noqa: PLR2004  # a pair
        raise NotShown("two series are to be cited, one for each name")
    if claim.at_least < MIN_CORRELATION:
        raise NotShown(f"a correlation of less than {MIN_CORRELATION} says nothing")
    first, second = series_at(cited[0]), series_at(cited[1])
    if (cited[0].item.name, cited[0].place.steps) == (cited[1].item.name, cited[1].place.steps):
        raise NotShown("a series always correlates with itself")
    found = spearman(first.points, second.points)
    if found is None:
        raise NotShown(f"the series have fewer than {MIN_COMMON_SAMPLES} common samples, or one never moves")
    if abs(found) < claim.at_least:
        raise NotShown(f"the correlation is {found:.2f}, not {claim.at_least:g} or more", contradicted=True)
    return found


def course(cited: Sequence[Cited], window: IncidentWindow | None) -> tuple[Sequence[Point], Sequence[Point]]:
    """Give the points of the cited series, and the points that say what is normal for it.

    These are the second citation where there is one (it must be the same series of the same query: an aggregate has no
    labels to tell it from another's); else the points before the incident window; else the leading third. Raises
    NotShown.
    """
    series = series_at(cited[0])
    if len(cited) > 1:
        normal = series_at(cited[1])
        if normal.labels != series.labels or _question(cited[0]) != _question(cited[1]):
            raise NotShown("the series of the baseline is another one", contradicted=True)
        if not normal.points or not series.points or normal.points[0][0] >= series.points[0][0]:
            raise NotShown("the series of the baseline does not begin before the other")
        return series.points, normal.points
    baseline, rest = split_baseline(series.points, None if window is None else epoch_ms(window.incident.start))
    return rest, baseline


def _question(cited: Cited) -> tuple[str, ...]:
    seen = cited.item.observation
    return seen.source, seen.tenant, seen.tool, seen.expression


class Course(NamedTuple):
    """The labels and points of a cited series."""

    labels: Json
    points: tuple[Point, ...]


def series_at(cited: Cited) -> Course:
    """Give the series that a citation names or lies in. Raises NotShown."""
    found = cited.place.series
    if found is None:
        raise NotShown(f"{cited.item.name} is cited where there is no series")
    points = found["points"]
    if not isinstance(points, list):
        raise NotShown(f"the series of {cited.item.name} cannot be read")
    return Course(found.get("labels"), tuple(_point(point, cited) for point in points))


def _point(point: Json, cited: Cited) -> Point:
    match point:
        case [int(at), int() | float() | None as value]:
            return at, None if value is None else float(value)
        case _:
            raise NotShown(f"the series of {cited.item.name} cannot be read")


def series_step(cited: Cited) -> timedelta:
    """Give the distance of the points of the cited series, at least a second."""
    return max(timedelta(milliseconds=step_of(series_at(cited).points)), ONE_SECOND)


def check_moment(said: datetime, there: Sequence[datetime], what: str) -> None:
    """Check that one of the moments `there` is `said`, to the second. Raises NotShown."""
    if not there:
        raise NotShown(f"{what} has no time")
    if not any(said.replace(microsecond=0) == moment.replace(microsecond=0) for moment in there):
        raise NotShown(f"{what} is of {rfc3339(there[0])}, not of {rfc3339(said)}", contradicted=True)


def check_near(said: datetime, there: datetime, step: timedelta, what: str) -> None:
    """Check that two moments are at most one step apart. Raises NotShown."""
    if abs(said - there) > step:
        raise NotShown(f"{what} {rfc3339(there)}, not {rfc3339(said)}", contradicted=True)


def check_unit(unit: str, cited: Cited) -> None:
    """Check that the observation carries `unit`; "" is none. Raises NotShown."""
    if unit and not carries(carried_units(cited.item, cited.place), unit):
        raise NotShown(f"{cited.item.name} does not say that the value is in {unit!r}")
