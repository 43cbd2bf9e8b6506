"""Foreign values as safe, bounded text."""

from __future__ import annotations

import hashlib
import json
import re

from inquest.domain.value import Json, Labels
from inquest.wire.sanitise import MIN_LIMIT, clean

MAX_NAME_CHARS = MIN_LIMIT
MAX_VALUE_CHARS = 4_096
MAX_LABELS = 128
MAX_LABELS_CHARS = 65_536
"""All values of one set of labels together: with many of them, each may be shorter."""

_PLAIN_FINGERPRINT = re.compile(r"[0-9A-Za-z._:/-]{1,128}", re.ASCII)


def read_text(value: Json, warnings: list[str], name: str, *, limit: int = MAX_VALUE_CHARS) -> str:
    """Give any JSON value as safe text: a string as it is, null as "", the rest as JSON."""
    match value:
        case None:
            return ""
        case str():
            text = value
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if isinstance(value, list | dict):
                warnings.append(f"{name} is no text: kept as JSON")
    safe = clean(text, limit=limit)
    warnings.extend(f"{name}: {note}" for note in safe.notes)
    return safe.text


def read_labels(value: Json, warnings: list[str], name: str) -> Labels:
    """Give an object of names and texts, each safe and bounded; null values are left out, as if not there."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        warnings.append(f"{name} is no object: left out")
        return {}
    limit = max(MIN_LIMIT, min(MAX_VALUE_CHARS, MAX_LABELS_CHARS // max(1, len(value))))
    labels: Labels = {}
    for key, raw in value.items():
        if raw is None:
            continue
        if len(labels) == MAX_LABELS:
            warnings.append(f"{name}: only {MAX_LABELS} of {len(value)} are taken")
            break
        safe = read_text(key, warnings, f"a name in {name}", limit=MAX_NAME_CHARS)
        if safe in labels:
            warnings.append(f"{name}: {safe!a} comes twice, the first is kept")
            continue
        labels[safe] = read_text(raw, warnings, f"{name}.{safe}", limit=limit)
    return labels


def read_fingerprint(value: Json) -> str:
    """Give a sender's fingerprint: as it is when short and plain, else its sha256; "" when there is none.

    It is a key of our tables, whose index takes 2.7 kB at most, and two that differ must stay apart.
    """
    match value:
        case None | "":
            return ""
        case str() if _PLAIN_FINGERPRINT.fullmatch(value):
            return value
        case _:
            written = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()
