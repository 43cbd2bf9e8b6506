"""The tools that we answer ourselves: their specs, and their answers as pure functions of the state."""

from __future__ import annotations

from collections.abc import Mapping

from inquest.domain.budget import MAX_HYPOTHESES, MAX_QUESTION_CHARS, Limits
from inquest.domain.failure import FailureCode
from inquest.domain.hypothesis import Hypothesis, LedgerEntry
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.stages.gather_evidence.limits import result_bytes
from inquest.stages.gather_evidence.reading import ReadingRefused, read
from inquest.stages.gather_evidence.record import InternalResult
from inquest.stages.gather_evidence.selection import MAX_FOUND, find_tools
from inquest.stages.gather_evidence.state import LoopState

SOURCE = "inquest"
JUDGEMENTS = ("supported", "refuted", "open")
MAX_REASON_CHARS = 400
MAX_TEXT_CHARS = 400


def _object(required: list[Json], **properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _spec(name: str, description: str, parameters: dict[str, Json]) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        source=SOURCE,
        signal="derived",
        kind="internal",
        cost=1,
    )


INTERNAL_TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        _spec(
            "search_tools",
            "Find tools by words and bring the best matches on offer.",
            _object(["query"], query={"type": "string", "minLength": 1, "maxLength": 200}),
        ),
        _spec(
            "read_evidence",
            "Read more of an evidence item: by JSON pointer, by text that lines contain, or a range of its lines.",
            _object(
                ["id"],
                id={"type": "string", "pattern": "^E[1-9][0-9]*$"},
                pointer={"type": "string", "maxLength": 512},
                grep={"type": "string", "minLength": 1, "maxLength": 200},
                range={"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2},
            ),
        ),
        _spec(
            "judge",
            "Say how a hypothesis stands, and which evidence says so. Needed for each before you conclude.",
            _object(
                ["hypothesis", "judgement", "reason"],
                hypothesis={"type": "string", "pattern": "^h[1-9][0-9]*$"},
                judgement={"type": "string", "enum": list(JUDGEMENTS)},
                evidence={
                    "type": "array",
                    "items": {"type": "string", "pattern": "^E[1-9][0-9]*$"},
                    "maxItems": 20,
                    "default": [],
                },
                reason={"type": "string", "minLength": 1, "maxLength": MAX_REASON_CHARS},
            ),
        ),
        _spec(
            "open_hypothesis",
            "Add a hypothesis and the observation that would refute it.",
            _object(
                ["text", "refuted_by"],
                text={"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
                refuted_by={"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
            ),
        ),
    )
}
"""In the order in which they are offered: the three reserved ones, then open_hypothesis."""

ASK_HUMAN = _spec(
    "ask_human",
    "Ask the engineer on call what no tool can tell, in one question. The investigation stops until it is answered, "
    "which may take hours: ask only what decides between hypotheses, and only when the tools have been tried.",
    _object(["question"], question={"type": "string", "minLength": 1, "maxLength": MAX_QUESTION_CHARS}),
)
OWN_TOOLS: dict[str, ToolSpec] = {**INTERNAL_TOOLS, ASK_HUMAN.name: ASK_HUMAN}
"""Every tool that we answer ourselves, or let a human answer."""


def offered_by_us(limits: Limits) -> dict[str, ToolSpec]:
    """Give those that are on offer: a human is asked only where the configuration lets somebody be asked."""
    return OWN_TOOLS if limits.max_questions else INTERNAL_TOOLS


def evidence_wanted(state: LoopState, tool: str, arguments: Mapping[str, Json]) -> str | None:
    """Give the digest of the content that answering needs, None when it needs none."""
    item = state.item(str(arguments.get("id"))) if tool == "read_evidence" else None
    return None if item is None else item.observation.digest


def answer(
    state: LoopState,
    tool: str,
    arguments: Mapping[str, Json],
    *,
    tools: Mapping[str, ToolSpec],
    content: bytes | None,
) -> InternalResult:
    """Answer one internal call whose arguments fit its schema. `content`: what `evidence_wanted` asked for."""
    match tool:
        case "search_tools":
            return _search(str(arguments["query"]), tools)
        case "read_evidence":
            return _read(state, arguments, content)
        case "judge":
            return _judge(state, arguments)
        case _:
            return _open(state, arguments)


def _search(query: str, tools: Mapping[str, ToolSpec]) -> InternalResult:
    found = find_tools(query, tools.values())
    if not found:
        text = f"No tool matches. Sources with tools: {', '.join(sorted({spec.source for spec in tools.values()}))}."
        return InternalResult(tool="search_tools", text=text)
    lines = [f"{spec.name} ({spec.source}, {spec.signal}): {spec.description}" for spec in found]
    head = f"On offer from the next turn (the {len(found)} best matches, {MAX_FOUND} at most):"
    return InternalResult(tool="search_tools", text="\n".join([head, *lines]), found=tuple(spec.name for spec in found))


def _read(state: LoopState, arguments: Mapping[str, Json], content: bytes | None) -> InternalResult:
    item = state.item(str(arguments["id"]))
    if item is None or content is None:
        names = f"E1 to {state.evidence[-1].name}" if state.evidence else "none yet"
        return _refused("read_evidence", f"there is no such evidence; there is {names}")
    try:
        text = read(content, arguments, most_bytes=result_bytes(state.investigation.limits))
    except ReadingRefused as refused:
        return _refused("read_evidence", refused.hint)
    return InternalResult(tool="read_evidence", text=text, evidence=item.name)


def _judge(state: LoopState, arguments: Mapping[str, Json]) -> InternalResult:
    names = [entry.hypothesis.name for entry in state.ledger.entries]
    entry = next((one for one in state.ledger.entries if one.hypothesis.name == arguments["hypothesis"]), None)
    if entry is None:
        return _refused("judge", f"there is no such hypothesis; there are {', '.join(names)}")
    cited = arguments.get("evidence")
    evidence = tuple(dict.fromkeys(str(name) for name in cited)) if isinstance(cited, list) else ()
    missing = [name for name in evidence if state.item(name) is None]
    if missing:
        return _refused("judge", f"there is no evidence {', '.join(missing)}")
    judgement = next(one for one in ("supported", "refuted", "open") if one == arguments["judgement"])
    if judgement != "open" and not evidence:
        return _refused("judge", f"{judgement} needs the evidence that says so")
    judged = LedgerEntry(
        hypothesis=entry.hypothesis, judgement=judgement, evidence=evidence, reason=str(arguments["reason"])
    )
    left = [one.hypothesis.name for one in state.ledger.entries if one.hypothesis.name != entry.hypothesis.name]
    still = [name for name in left if name in unjudged(state)]
    text = f"{entry.hypothesis.name} is {judgement}. Not judged yet: {', '.join(still) or 'none'}."
    return InternalResult(tool="judge", text=text, judged=judged)


def _open(state: LoopState, arguments: Mapping[str, Json]) -> InternalResult:
    entries = state.ledger.entries
    if len(entries) >= MAX_HYPOTHESES:
        return _refused("open_hypothesis", f"there are {MAX_HYPOTHESES} hypotheses already, the most there may be")
    text, refuted_by = str(arguments["text"]), str(arguments["refuted_by"])
    same = next((entry.hypothesis for entry in entries if entry.hypothesis.text.lower() == text.lower()), None)
    if same is not None:
        return _refused("open_hypothesis", f"that is {same.name}")
    opened = Hypothesis(name=f"h{len(entries) + 1}", text=text, refuted_by=refuted_by)
    return InternalResult(tool="open_hypothesis", text=f"Opened as {opened.name}.", opened=opened)


def unjudged(state: LoopState) -> tuple[str, ...]:
    """Name the hypotheses that nobody has judged."""
    return tuple(entry.hypothesis.name for entry in state.ledger.entries if not entry.is_judged)


def _refused(tool: str, hint: str) -> InternalResult:
    return InternalResult(tool=tool, text=hint, code=FailureCode.INVALID_QUERY)
