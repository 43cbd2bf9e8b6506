"""From what a source said to an observation, in the fixed order of design 7.

read -> parse -> normalise (sanitise is part of it) -> redact -> digest -> truncate. The full redacted
content is what is digested, stored and cited; only what is shown is cut, so that a secret on the border of
the cut has already gone, and the digest is the same whatever the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from inquest.domain.canonical import canonical_json, digest_of, normalise
from inquest.domain.failure import Failure
from inquest.domain.observation import Content, Context, Observation, Query, Truncation
from inquest.domain.signals import Matrix, Other, SignalContent
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.wire.fitting import cut_text, fit, size_of
from inquest.wire.redaction import REDACTION_VERSION, Redactor
from inquest.wire.sanitise import clean

MIN_SHOWN_BYTES = 256
"""A query that may show less than this shows nothing of use: budget_exhausted."""

ITEMS = {
    "matrix": "series",
    "vector": "samples",
    "logs": "lines",
    "changes": "changes",
    "alerts": "alerts",
    "rules": "rules",
    "series": "series",
    "names": "names",
    "other": "value",
}
"""By kind of content the member whose length counts as items. A text is one item."""


_KINDS: dict[tuple[bool, bool], Literal["json", "text", "truncated-json", "truncated-text"]] = {
    (False, False): "json",
    (False, True): "truncated-json",
    (True, False): "text",
    (True, True): "truncated-text",
}
"""By whether it is a text, and whether it is truncated."""


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation and the full content that its digest names."""

    observation: Observation
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an observation says about where it comes from. `room` is what of max_bytes is left for this page."""

    query: Query
    context: Context
    spec: ToolSpec
    expression: str
    retrieved_at: datetime
    room: int


def observe(
    content: SignalContent, asked: Asked, redactor: Redactor, *, error: Failure | None = None, cut: bool = False
) -> Observed:
    """Make the observation of `content`. `cut`: the transport's cap ended the reading, the rest is unknown."""
    tree = _safe_tree(content, redactor)
    full = canonical_json(tree)
    shown, truncation = _shown(content, tree, asked, full)
    whole = shown == _body(content, tree)
    truncated = cut or not whole
    observation = Observation(
        source=asked.spec.source,
        tenant=asked.context.tenant,
        workspace=asked.context.workspace,
        service=asked.query.service_id,
        signal=asked.spec.signal,
        tool=asked.spec.name,
        expression=redactor.text(clean(asked.expression).text),
        time_range=asked.query.time_range,
        cursor=asked.query.cursor,
        retrieved_at=asked.retrieved_at,
        content=Content(kind=_KINDS[_is_text(content), truncated], body=shown),
        digest=digest_of(full),
        truncated=truncated,
        truncation=truncation,
        redaction_version=REDACTION_VERSION,
        error=error,
    )
    return Observed(observation, full)


def _safe_tree(content: SignalContent, redactor: Redactor) -> Json:
    """Give the content's tree, sanitised, redacted and normalised.

    The points of a matrix are numbers only and by far the most of it; they are not looked through for text.
    """
    if not isinstance(content, Matrix):
        return normalise(redactor.tree(sanitised(content.model_dump(mode="json"))))
    bare = content.but(series=tuple(series.but(points=()) for series in content.series))
    tree = normalise(redactor.tree(sanitised(bare.model_dump(mode="json"))))
    if isinstance(tree, dict) and isinstance(listed := tree["series"], list):
        for series, own in zip(listed, content.series, strict=True):
            if isinstance(series, dict):
                series["points"] = [[*point] for point in own.points]
    return tree


def content_bytes(content: Content) -> bytes:
    """Give the full content of an observation that is not truncated, from what it shows."""
    body: Json = {"kind": "other", "value": content.body} if content.kind == "text" else content.body
    return canonical_json(body)


def sanitised(value: Json) -> Json:
    """Pass every text of `value`, names too, through the sanitiser."""
    match value:
        case str():
            return _safe(value)
        case list():
            return [sanitised(item) for item in value]
        case dict():
            return {_safe(name): sanitised(item) for name, item in value.items()}
        case _:
            return value


def _safe(text: str) -> str:
    return text if text.isascii() and text.isprintable() else clean(text).text


def _is_text(content: SignalContent) -> bool:
    return isinstance(content, Other) and isinstance(content.value, str)


def _body(content: SignalContent, tree: Json) -> Json:
    return tree["value"] if _is_text(content) and isinstance(tree, dict) else tree


def _shown(content: SignalContent, tree: Json, asked: Asked, full: bytes) -> tuple[Json, Truncation]:
    body = _body(content, tree)
    if isinstance(body, str):
        shown: Json = cut_text(body, asked.room)
        original, kept, before, after = 1, 1, len(body.encode()), len(str(shown).encode())
    else:
        listed = _items(body)
        shown = fit(_first(body, asked.query.budget.max_items), asked.room)
        original, kept = len(listed), len(_items(shown))
        before, after = len(full), size_of(shown)
    return shown, Truncation(original_items=original, original_bytes=before, kept_items=kept, kept_bytes=after)


def _items(body: Json) -> list[Json]:
    """Give the items of a content's tree; one, the whole, where it has no list of them."""
    if not isinstance(body, dict):
        return [body]
    found = body.get(ITEMS.get(str(body.get("kind")), ""))
    return found if isinstance(found, list) else [body]


def _first(body: Json, most: int) -> Json:
    if isinstance(body, dict) and len(items := _items(body)) > most:
        return {**body, ITEMS[str(body["kind"])]: items[:most]}
    return body
