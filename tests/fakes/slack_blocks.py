"""What Slack takes as blocks, and what it makes of their texts: mentions, links, dates and emoji that are alive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_BLOCKS = 50
MAX_HEADER, MAX_SECTION, MAX_CONTEXT_ELEMENTS, MAX_BLOCK_ID = 150, 3_000, 10, 255


def problem_of(blocks: Any) -> str | None:  # noqa: ANN401  # whatever a sender gave
    """Say what Slack would refuse in `blocks`; None when they are right."""
    if not isinstance(blocks, list) or len(blocks) > MAX_BLOCKS:
        return "no more than 50 items allowed"
    return next((found for block in blocks if (found := _block_problem(block)) is not None), None)


def _block_problem(block: Any) -> str | None:  # noqa: ANN401  # whatever a sender gave
    if not isinstance(block, dict) or len(str(block.get("block_id", ""))) > MAX_BLOCK_ID:
        return "a block is an object"
    text, elements = block.get("text"), block.get("elements")
    match block.get("type"):
        case "header":
            problem = _text_problem(text, {"plain_text"}, MAX_HEADER)
        case "section":
            problem = _text_problem(text, {"plain_text", "mrkdwn"}, MAX_SECTION)
        case "context" if isinstance(elements, list) and 1 <= len(elements) <= MAX_CONTEXT_ELEMENTS:
            found = (_text_problem(one, {"plain_text", "mrkdwn"}, MAX_SECTION) for one in elements)
            problem = next((one for one in found if one is not None), None)
        case "divider":
            problem = None
        case _:
            problem = "unsupported type, or a context without 1 to 10 elements"
    return problem


def _text_problem(text: Any, types: set[str], limit: int) -> str | None:  # noqa: ANN401  # whatever a sender gave
    if not isinstance(text, dict) or text.get("type") not in types:
        return "invalid text object"
    if text["type"] == "mrkdwn" and "emoji" in text:
        return "emoji is for plain_text"
    if text["type"] == "plain_text" and "verbatim" in text:
        return "verbatim is for mrkdwn"
    said = text.get("text")
    if not isinstance(said, str) or not 1 <= len(said) <= limit:
        return f"must be 1 to {limit} characters"
    return None


# ---- what is alive


def live(said: Mapping[str, Any]) -> list[str]:
    """List what Slack would make of a message beside its words: mentions, links, dates, emoji, unfurled pages."""
    found: list[str] = []
    for text in _texts(said.get("blocks") or []):
        if text["type"] == "mrkdwn":
            found += _of_mrkdwn(text["text"], autolinks=not text.get("verbatim", False))
        elif text.get("emoji", True):
            found += _EMOJI.findall(text["text"])
    automatic = said.get("parse") != "none" or bool(said.get("link_names"))
    found += _of_mrkdwn(str(said.get("text", "")), autolinks=automatic)
    if said.get("ts") is None and (said.get("unfurl_links", True) or said.get("unfurl_media", True)):
        found.append("pages are unfurled")
    return found


_ENTITY = re.compile(r"<([^<>]*)>")
_EMOJI = re.compile(r"(?<!\w):[a-z0-9_+'-]+:")
_BARE_URL = re.compile(r"(?:https?://|www\.|mailto:)\S+|\b[\w.+-]+@[\w-]+\.[\w.]+", re.IGNORECASE)
_BARE_MENTION = re.compile(r"(?<!\w)[@#][A-Za-z][\w-]*")
_CODE = re.compile(r"`[^`\n]*`")


def _of_mrkdwn(text: str, *, autolinks: bool) -> list[str]:
    """Read one mrkdwn text. Entities are read inside of code too, as Slack does; emoji are not."""
    found = [entity for entity in _ENTITY.findall(text) if entity]
    outside = _CODE.sub(" ", text)
    found += _EMOJI.findall(outside)
    if autolinks:
        found += _BARE_URL.findall(_ENTITY.sub(" ", text)) + _BARE_MENTION.findall(outside)
    return found


_EMPHASIS = re.compile(r"(?:(?<=\W)|^)([*_~])(?=\S)(.+?)(?<=\S)\1(?=\W|$)", re.MULTILINE)


def emphasised(text: str) -> list[str]:
    """List what stands in bold, in italics or struck through in a mrkdwn text."""
    return [said for _, said in _EMPHASIS.findall(_CODE.sub(" ", text))]


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if isinstance(block.get("text"), dict):
            yield block["text"]
        yield from (one for one in block.get("elements", ()) if isinstance(one, dict))


def all_text(said: Mapping[str, Any]) -> str:
    """Give every text of a message."""
    return "\n".join([str(said.get("text", "")), *(text["text"] for text in _texts(said.get("blocks") or []))])
