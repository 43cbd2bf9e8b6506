"""The fields of a payload, and which of them have a value.

Where Datadog has no value for a variable it leaves the variable as it stands in the template (`$HOSTNAME`), or
writes "null" or nothing: none of these is a value, and none may ever be a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from inquest.domain.value import Json

MAX_TAGS = 256
"""Tags that are read of one list."""

FIELDS = {
    "cycle": ("alert_cycle_key",),
    "monitor": ("alert_id", "monitor_id"),
    "aggregation": ("aggreg_key", "aggregation_key"),
    "scope": ("alert_scope",),
    "transition": ("alert_transition",),
    "title": ("alert_title", "event_title", "title"),
    "priority": ("alert_priority",),
    "type": ("alert_type",),
    "status": ("alert_status",),
    "metric": ("alert_metric",),
    "query": ("alert_query",),
    "text": ("text", "text_only_msg", "event_msg", "body"),
    "tags": ("tags",),
    "host": ("hostname", "host"),
    "link": ("link", "event_url"),
    "snapshot": ("snapshot",),
    "date": ("date", "date_posix", "last_updated"),
}
"""Under which names a template may carry each thing, ours first; the first that has a value counts. `id` and
`event_id` name nothing here: $ID is another one for every notification."""
NAMING = ("cycle", "monitor", "aggregation", "scope", "title", "text", "tags", "host")
"""Without any of these there is nothing to know an alert by."""

Given = Mapping[str, str]
"""The value of every one of FIELDS, as it was sent; "" where there is none."""

_VARIABLE = re.compile(r"\$[A-Z0-9_]+(?:\[[^\[\]]{0,128}\])?")
"""A variable of Datadog's or of the customer's, and `$TAGS[key]`."""
_MAX_UNSET_CHARS = 512
"""A longer text was written by somebody."""


def read_fields(posted: Mapping[str, Json]) -> Given:
    """Give the fields of a payload that have a value."""
    return {name: _first(posted, keys) for name, keys in FIELDS.items()}


def _first(posted: Mapping[str, Json], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if is_set(text := written(posted.get(key)))), "")


def written(value: Json) -> str:
    """Write a value as a template would have quoted it; a list becomes a list of tags."""
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return ",".join(written(one) for one in value[: MAX_TAGS + 1])
        case _:
            return json.dumps(value, ensure_ascii=False)


def is_set(text: str) -> bool:
    """Say whether there is a value: what is made of variables and punctuation alone was not filled in."""
    if text.lower() in {"", "null"}:
        return False
    if len(text) > _MAX_UNSET_CHARS or "$" not in text:
        return True
    return any(char.isalnum() for char in _VARIABLE.sub("", text))


def tags(text: str, warnings: list[str], name: str) -> Iterator[tuple[str, str]]:
    """Give the tags of a list that have a value, `k:v,` by `k:v,`. A value may hold colons."""
    parts = text.strip("{} ").split(",", MAX_TAGS)
    if len(parts) > MAX_TAGS and parts.pop().strip(", "):
        warnings.append(f"{name}: only the first {MAX_TAGS} are taken")
    for part in parts:
        tag, _, value = part.partition(":")
        if tag.strip() and is_set(value.strip()):
            yield tag.strip(), value.strip()
