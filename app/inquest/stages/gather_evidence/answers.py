"""What a model is shown as the answer to one call. Pure."""

from __future__ import annotations

import json

from inquest.domain.failure import Failure
from inquest.domain.value import Json
from inquest.ports import Exchange
from inquest.stages.gather_evidence.excerpt import one_line
from inquest.stages.gather_evidence.kit import Frame
from inquest.stages.gather_evidence.limits import BATCH_SHARE, SEEDS_SHARE, result_bytes
from inquest.stages.gather_evidence.render import fenced
from inquest.stages.gather_evidence.state import SEED_BATCH, Answer, LoopState

MAX_SHOWN_ARGUMENT_BYTES = 1_024
"""Arguments in history above this are shown with their long texts shortened."""
SHORTENED_CHARS = 200


def answer_text(state: LoopState, answer: Answer, frame: Frame) -> str:
    """Render the answer of one call, bounded by its share of the window."""
    match answer.how:
        case "receipt":
            return _receipt_text(state, answer, frame)
        case "replay":
            return _replay_text(state, answer, frame)
        case "refusal":
            return f"refused: {answer.code}: {answer.text}"
        case "interrupt":
            return _human_text(state, answer, frame)
        case "internal":
            if answer.foreign:
                return fenced(answer.text, frame.boundary, f"{answer.evidence[0]} (more of it)")
            return f"refused: {answer.code}: {answer.text}" if answer.code else answer.text


def exchange(state: LoopState, answer: Answer, frame: Frame, evicted: frozenset[str]) -> Exchange:
    """Give an answered call as an investigator may see it."""
    gone = answer.path in evicted
    return Exchange(
        batch=answer.batch,
        ordinal=answer.ordinal,
        call_id=answer.call_id,
        name=answer.name,
        arguments=answer.arguments,
        how=answer.how,
        key=answer.key,
        shown=evicted_line(answer) if gone else answer_text(state, answer, frame),
        evidence=answer.evidence,
        failed=answer.failure is not None or answer.code is not None,
    )


def evicted_line(answer: Answer) -> str:
    """Give the one line that an evicted exchange leaves."""
    if answer.evidence:
        return f"{answer.path} {answer.name}: {', '.join(answer.evidence)}, not shown; read_evidence reads it"
    if answer.failure is not None:
        return f"{answer.path} {answer.name}: failed, {answer.failure.code}"
    return f"{answer.path} {answer.name}: {answer.how}, not shown"


def failure_text(failure: Failure) -> str:
    """Write a failure; all its words are ours."""
    hint = f" ({failure.hint})" if failure.hint else ""
    wait = f"; it asks for {failure.retry_after_ms} ms" if failure.retry_after_ms is not None else ""
    return f"{failure.code}: {failure.message}{hint}{wait}"


def shown_arguments(raw: str) -> str:
    """Give arguments for history: a JSON object always, for strict providers refuse anything else (BL-029)."""
    try:
        found: Json = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(found, dict):
        return "{}"
    if len(raw.encode("utf-8", "replace")) <= MAX_SHOWN_ARGUMENT_BYTES:
        return raw or "{}"
    short = json.dumps({name: _shortened(value) for name, value in found.items()})
    return short if len(short) <= MAX_SHOWN_ARGUMENT_BYTES else "{}"


def _shortened(value: Json) -> Json:
    if isinstance(value, str):
        return value if len(value) <= SHORTENED_CHARS else f"{value[:SHORTENED_CHARS]} …"
    return value if isinstance(value, int | float | bool | None) else "…"


def _receipt_text(state: LoopState, answer: Answer, frame: Frame) -> str:
    items = [item for name in answer.evidence if (item := state.item(name)) is not None]
    seeded = answer.batch == SEED_BATCH
    together = state.batch_size(answer.batch)
    share = SEEDS_SHARE if seeded else BATCH_SHARE
    most = result_bytes(state.investigation.limits, of=together, share=share) // max(len(items), 1)
    parts = [frame.rendered(item, most) for item in items]
    left_out = [one for one in state.excluded if one.effect_key == answer.key]
    if left_out:
        parts.append(f"{len(left_out)} observations were excluded: {left_out[0].reason}")
    if answer.failure is not None:
        parts.append(f"failed: {failure_text(answer.failure)}")
    if answer.next_cursor is not None:
        parts.append(f"more pages: call again with cursor {answer.next_cursor}")
    return "\n".join(parts) or "answered, and there is nothing."


def _human_text(state: LoopState, answer: Answer, frame: Frame) -> str:
    """Give what a human said, inside the boundary as everything that others wrote; or our word that nobody did."""
    if not answer.foreign:
        return answer.text
    most = result_bytes(state.investigation.limits, of=state.batch_size(answer.batch), share=BATCH_SHARE)
    return fenced(one_line(answer.text, most), frame.boundary, "answer of a human")


def _replay_text(state: LoopState, answer: Answer, frame: Frame) -> str:
    said = "The same call was answered before; it was not run again."
    original = next((one for one in state.answers if one.how == "receipt" and one.key == answer.key), None)
    if original is None:
        return said
    if original.path in state.evicted:
        return f"{said}\n{_receipt_text(state, original, frame)}"
    names = ", ".join(answer.evidence)
    failed = "" if answer.failure is None else f" It failed: {failure_text(answer.failure)}."
    return f"{said} See {names}.{failed}" if names else f"{said}{failed}"
