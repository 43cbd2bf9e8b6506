"""What a claim's text may draw on: the cited places, their records, and the observation around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.domain.value import rfc3339
from inquest.stages.claim_text import Ground, numbers_in
from inquest.stages.claim_words import OBJECT_LABELS
from inquest.stages.quoting import number_in, series_name
from inquest.stages.units import carried_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inquest.domain.value import Json
    from inquest.stages.exhibits import Cited, Exhibits

MAX_GROUND_CHARS = 65_536
"""Of one citation. A text that rests on what lies beyond is not confirmed."""
MAX_GROUND_DEPTH = 4
MAX_GROUND_ITEMS = 64
MIN_NAME_CHARS = 3


def ground_of(cited: Iterable[Cited], known: frozenset[str] = frozenset()) -> Ground:
    """Collect what the cited places hold. `known`: names of objects anywhere in the investigation."""
    ground = Ground(known=known)
    for one in cited:
        ground = ground | _ground_of_one(one)
    return ground


def _ground_of_one(cited: Cited) -> Ground:
    place, observation = cited.place, cited.item.observation
    record = {name: value for name, value in (place.record or {}).items() if name not in {"points", "series"}}
    series = place.series
    if series is not None:
        record |= {"labels": series.get("labels", {}), "": series_name(series)}
    texts = [
        *_texts(None if place.is_series else place.value),
        *_texts(record),
        *(str(part) for part in place.point or ()),
        cited.citation.quoted,
        observation.service,
        observation.expression,
        observation.tool,
        observation.source,
    ]
    words = "\n".join(texts)[:MAX_GROUND_CHARS].lower()
    moments = {*place.moments, observation.time_range.start, observation.time_range.end}
    number = None if place.point is None else number_in(place.point[1])
    return Ground(
        numbers=numbers_in(words) | ({number} if number is not None else set()),
        moments=frozenset(moments),
        units=carried_units(cited.item, place),
        words=words + "\n" + "\n".join(rfc3339(moment).lower() for moment in moments),
        evidence=frozenset({cited.item.name}),
    )


def _texts(value: Json, depth: int = 0) -> Iterator[str]:
    """Give the scalars of a value as text, a field's name before its value, within bounds."""
    match value:
        case None | bool():
            return
        case dict() if depth < MAX_GROUND_DEPTH:
            for name, inner in list(value.items())[:MAX_GROUND_ITEMS]:
                yield name
                yield from _texts(inner, depth + 1)
        case list() if depth < MAX_GROUND_DEPTH:
            for inner in value[:MAX_GROUND_ITEMS]:
                yield from _texts(inner, depth + 1)
        case int() | float() | str():
            yield str(value)[:MAX_GROUND_CHARS]
        case _:
            return


def known_objects(exhibits: Exhibits) -> frozenset[str]:
    """Give the names of objects that the admitted evidence shows, in lower case: services and object labels."""
    found: set[str] = set()
    for item in exhibits.items.values():
        found.add(item.observation.service.lower())
        found.update(_object_names(item.observation.content.body))
    return frozenset(name for name in found if len(name) >= MIN_NAME_CHARS and number_in(name) is None)


def _object_names(value: Json, depth: int = 0) -> Iterator[str]:
    if depth > MAX_GROUND_DEPTH:
        return
    match value:
        case dict():
            for name, inner in value.items():
                if name in OBJECT_LABELS and isinstance(inner, str):
                    yield inner.lower()
                elif isinstance(inner, dict | list) and name != "points":
                    yield from _object_names(inner, depth + 1)
        case list():
            for inner in value:
                yield from _object_names(inner, depth + 1)
        case _:
            return
