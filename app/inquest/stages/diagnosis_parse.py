"""From a reply's text to the wire form: strictly first, then whatever whole parts a broken text still holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from inquest.domain.budget import MAX_REPLY_BYTES
from inquest.domain.diagnosis import Verdict
from inquest.domain.value import Json
from inquest.stages.diagnosis_schema import CLAIM_TYPES, WireProposal
from inquest.stages.publishable import unfenced

MAX_PROBLEMS = 10
MAX_OBJECTS_TRIED = 2_000
"""Opening braces at which the fallback tries to read an object."""
_FENCED = re.compile(r"```[a-zA-Z0-9_-]{0,20}[ \t]*\n(.*?)```", re.DOTALL)
_WRAPPERS = ("arguments", "input", "parameters", "diagnosis", "result", "answer", "output", "json")
_STRING = r'\s*"\s*:\s*"((?:[^"\\]|\\.){0,4000})'
_ROOT_CAUSE = re.compile(r'"root_cause' + _STRING)
_CATEGORY = re.compile(r'"root_cause_category' + _STRING)
_OBJECT = re.compile(r'"affected_object' + _STRING)
_VERDICT = re.compile(r'"verdict"\s*:\s*"(' + "|".join(verdict.value for verdict in Verdict) + r')"')
_decoder = json.JSONDecoder(parse_constant=lambda _: None)


@dataclass(frozen=True)
class Unparsed:
    """Why a text is no proposal, in our words: field paths and rules, never what it said there."""

    problems: tuple[str, ...]


def parse_proposal(text: str) -> WireProposal | Unparsed:
    """Read a reply: JSON, in a code fence or between prose if need be; NaN and Infinity are null."""
    if len(text.encode("utf-8", errors="replace")) > MAX_REPLY_BYTES:
        return Unparsed((f"the answer is longer than {MAX_REPLY_BYTES} bytes",))
    problems: tuple[str, ...] = ("the answer holds no JSON object",)
    for candidate in _candidates(text):
        found = _load(candidate)
        if found is None:
            continue
        try:
            return WireProposal.model_validate(_unwrapped(found))
        except ValidationError as error:
            problems = _said(error)
    return Unparsed(problems)


def salvage_proposal(text: str) -> WireProposal | None:
    """Read the whole parts of a broken text (one cut at the output limit, say).

    None without at least one claim: a summary alone proves nothing, and then the analyst's proposal is
    better. What is missing stays empty; the verdict falls to what the claims carry.
    """
    claims: list[Json] = []
    steps: list[Json] = []
    for found in _objects(text[:MAX_REPLY_BYTES]):
        if found.get("type") in CLAIM_TYPES and "citations" in found:
            claims.append(found)
        elif {"at", "text", "citations"} <= found.keys():
            steps.append(found)
    verdict = _VERDICT.search(text)
    if not claims:
        return None
    try:
        return WireProposal.model_validate(
            {
                "verdict": Verdict(verdict[1]) if verdict else Verdict.INCONCLUSIVE,
                "root_cause": _string(_ROOT_CAUSE, text),
                "root_cause_category": _string(_CATEGORY, text),
                "affected_object": _string(_OBJECT, text),
                "causal_chain": steps,
                "claims": claims,
            }
        )
    except ValidationError:
        return None


def _candidates(text: str) -> Iterator[str]:
    yield unfenced(text).strip()
    for block in _FENCED.findall(text):
        yield block.strip()
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        yield text[start : end + 1]


def _load(text: str) -> dict[str, Json] | None:
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _unwrapped(found: dict[str, Json]) -> dict[str, Json]:
    """Take the proposal out of a tool call's arguments or a one-field wrapper, once."""
    if "verdict" in found:
        return found
    for name in _WRAPPERS:
        inner = found.get(name)
        if isinstance(inner, str):
            inner = _load(inner)
        if isinstance(inner, dict) and "verdict" in inner:
            return inner
    return found


def _said(error: ValidationError) -> tuple[str, ...]:
    listed = error.errors(include_input=False, include_url=False, include_context=False)
    return tuple(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in listed[:MAX_PROBLEMS])


def _objects(text: str) -> Iterator[dict[str, Json]]:
    """Give the outermost whole objects of a broken text, in order."""
    start = text.find("{")
    for _ in range(MAX_OBJECTS_TRIED):
        if start < 0:
            return
        try:
            found, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(found, dict):
                yield found
        start = text.find("{", end)


def _string(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        return ""
    loaded = _load('{"text": "' + found[1] + '"}') or {}
    said = loaded.get("text")
    return said if isinstance(said, str) else ""
