"""One request of a query, and how what was asked is written and searched."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from inquest.domain.failure import Failure
from inquest.wire.answer import Answer
from inquest.wire.ask import Ask
from inquest.wire.transport import Segments

GET_UP_TO_BYTES = 2_000
"""A longer query is posted: proxies refuse long URLs."""

Pairs = list[tuple[str, str]]


async def get_or_post(ask: Ask, path: Segments, pairs: Pairs) -> Answer | Failure:
    """Ask, by GET where it fits into a URL and by POST where it does not."""
    long = len(urlencode(pairs)) > GET_UP_TO_BYTES
    return await (ask.post_form(path, pairs) if long else ask.get(path, pairs))


def written(path: Segments, pairs: Pairs) -> str:
    """Write the path and parameters that were sent: the expression of an observation that has no other."""
    asked = "&".join(f"{name}={value}" for name, value in pairs)
    return f"/{'/'.join(path)}{'?' if asked else ''}{asked}"


def holds(search: str, texts: Iterable[str]) -> bool:
    """Say whether one of `texts` holds `search`, case ignored; "" is in every text."""
    wanted = search.casefold()
    return not wanted or any(wanted in text.casefold() for text in texts)
