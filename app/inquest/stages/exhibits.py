"""What claims are checked against: the admitted evidence with its full content, and citations into it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from inquest.domain.budget import MAX_HELD_CONTENT_BYTES
from inquest.domain.canonical import digest_of
from inquest.domain.claim import Citation
from inquest.stages.pointer import PointerMissing, resolve
from inquest.stages.quoting import is_quote_of, number_in, quote_of, split_unit
from inquest.stages.units import carried_units, carries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquest.domain.evidence import EvidenceItem
    from inquest.domain.value import Json
    from inquest.domain.window import IncidentWindow
    from inquest.stages.pointer import Place


class NotShown(Exception):
    """The evidence does not show what is said. `contradicted`: it shows something else."""

    def __init__(self, reason: str, *, contradicted: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.contradicted = contradicted


@dataclass(frozen=True)
class Cited:
    """A citation that holds, with the item and the place it leads to."""

    citation: Citation
    item: EvidenceItem
    place: Place


@dataclass
class Exhibits:
    """Admitted evidence by display name, and its full content by digest.

    Contents are parsed once, when first cited. `window` is the investigation's, where it is known.
    """

    evidence: Iterable[EvidenceItem]
    contents: Mapping[str, bytes]
    window: IncidentWindow | None = None
    items: dict[str, EvidenceItem] = field(init=False)
    _documents: dict[str, Json] = field(init=False, default_factory=dict)
    _genuine: dict[str, bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.items = {item.name: item for item in self.evidence}

    def item(self, name: str) -> EvidenceItem:
        """Give the admitted item of that name. Raises NotShown."""
        if name not in self.items:
            raise NotShown(f"{name} is no evidence of this investigation")
        return self.items[name]

    def document(self, digest: str) -> Json:
        """Give the parsed full content under `digest`. Raises NotShown when it is missing or is not that content."""
        if digest not in self._documents:
            raw = self.contents.get(digest)
            if raw is None:
                raise NotShown("the full content is not at hand")
            if digest_of(raw) != digest:
                raise NotShown("the full content does not have the digest that is cited", contradicted=True)
            self._documents[digest] = _parse(raw)
        return self._documents[digest]

    def check(self, citation: Citation) -> Cited:
        """Check one citation: name, identity, digest, pointer and quote. Raises NotShown with the reason."""
        item = self.item(citation.evidence)
        self._check_identity(citation, item)
        try:
            place = resolve(self.document(citation.content_digest), citation.pointer)
        except PointerMissing as missing:
            raise NotShown(f"the pointer {citation.pointer[:64]!r} leads nowhere in {item.name}: {missing}") from None
        self._check_quote(citation, item, place)
        return Cited(citation, item, place)

    def cite(self, name: str, pointer: str) -> Citation:
        """Write the citation of the value at `pointer` of item `name`: the one way code makes one.

        Raises NotShown when there is no such item, content or place.
        """
        item = self.item(name)
        try:
            place = resolve(self.document(item.observation.digest), pointer)
        except PointerMissing as missing:
            raise NotShown(f"the pointer {pointer[:64]!r} leads nowhere in {name}: {missing}") from None
        value = place.value if place.point is None or place.value is place.point[1] else place.point[1]
        return Citation(
            evidence=name,
            observation_id=item.observation_id,
            content_digest=item.observation.digest,
            pointer=pointer,
            quoted=quote_of(value),
        )

    def _check_identity(self, citation: Citation, item: EvidenceItem) -> None:
        if citation.observation_id != item.observation_id:
            raise NotShown(f"the citation names another observation than {item.name}", contradicted=True)
        if item.name not in self._genuine:  # canonical JSON of the whole envelope: once is enough
            self._genuine[item.name] = item.observation.observation_id == item.observation_id
        if not self._genuine[item.name]:
            raise NotShown(f"the envelope of {item.name} does not have the identity it claims", contradicted=True)
        if citation.content_digest != item.observation.digest:
            raise NotShown(f"the citation names another content than that of {item.name}", contradicted=True)

    def _check_quote(self, citation: Citation, item: EvidenceItem, place: Place) -> None:
        value = place.value
        if isinstance(value, list) and place.point is not None:
            value = place.point[1]  # the pair of a point is quoted by its value
        if is_quote_of(citation.quoted, value):
            return
        number, unit = split_unit(citation.quoted)
        if number_in(value) is not None and number is not None and unit and is_quote_of(str(number), value):
            if carries(carried_units(item, place), unit):
                return
            raise NotShown(f"{item.name} does not say that the value is in {unit!r}")
        _differs(citation, item, value)


def held_at_once(evidence: Iterable[EvidenceItem]) -> tuple[str, ...]:
    """Name the contents of `evidence` that are held in memory: each once, in order, while MAX_HELD_CONTENT_BYTES lasts."""
    digests: dict[str, None] = {}
    used = 0
    for item in evidence:
        size = item.observation.truncation.original_bytes
        if item.observation.digest not in digests and used + size <= MAX_HELD_CONTENT_BYTES:
            used += size
            digests[item.observation.digest] = None
    return tuple(digests)


def _differs(citation: Citation, item: EvidenceItem, value: Json) -> NoReturn:
    there = quote_of(value) or "an object"
    said = citation.quoted if len(citation.quoted) <= len(there) + 64 else citation.quoted[:64] + "…"
    raise NotShown(f"{item.name} says {there!r} where {said!r} is quoted", contradicted=True)


def _parse(raw: bytes) -> Json:
    try:
        parsed: Json = json.loads(raw)
    except (ValueError, RecursionError):
        raise NotShown("the full content cannot be read") from None
    return parsed
