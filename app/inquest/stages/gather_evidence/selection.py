"""Which tools are on offer: at most 32 described tools, and at most a quarter of the window. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from inquest.domain.budget import MAX_AGENT_TOOL_SCHEMAS, MAX_SECONDARY_FALLBACK_TOOLS
from inquest.domain.tool import ToolSpec
from inquest.stages.gather_evidence.limits import BYTES_A_TOKEN

MAX_FOUND = 5
"""Tools that one search brings in."""
NAME_WEIGHT, KIND_WEIGHT, TEXT_WEIGHT = 4, 2, 1
"""A word of the query counts most in a tool's name, then as its source or signal, then in its description."""
EXACT_WEIGHT = 1_000
"""A query that names a tool finds it, whatever else matches."""
_WORD = re.compile(r"[a-z0-9]{2,}")


@lru_cache(maxsize=4_096)
def words(text: str) -> frozenset[str]:
    """Give the words of `text`: lower case, CamelCase and snake_case taken apart."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower().replace("_", " ")
    return frozenset(_WORD.findall(apart))


def relevance(spec: ToolSpec, wanted: frozenset[str], query: str = "") -> int:
    """Score `spec` against the words `wanted`; 0 means nothing in common."""
    exact = EXACT_WEIGHT if query and spec.name in query.split() else 0
    return (
        exact
        + NAME_WEIGHT * len(words(spec.name) & wanted)
        + KIND_WEIGHT * len(words(f"{spec.source} {spec.signal}") & wanted)
        + TEXT_WEIGHT * len(words(spec.description) & wanted)
    )


def find_tools(query: str, specs: Iterable[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Give the best matches of `query`, best first, MAX_FOUND at most."""
    wanted = words(query)
    scored = [(relevance(spec, wanted, query), spec) for spec in specs]
    ranked = sorted(((score, spec) for score, spec in scored if score), key=lambda one: (-one[0], one[1].name))
    return tuple(spec for _, spec in ranked[:MAX_FOUND])


def select(
    specs: Mapping[str, ToolSpec],
    internal: Mapping[str, ToolSpec],
    *,
    planned: Sequence[str],
    about: str,
    most_tokens: int,
) -> tuple[str, ...]:
    """Choose the first offer: the internal tools, then the plan's in its order, then the most relevant.

    `about` is the text of the facts. What does not fit the caps is left out; search_tools brings it in.
    """
    wanted = words(about)
    rest = sorted(
        (spec for spec in specs.values() if spec.name not in planned),
        key=lambda spec: (-relevance(spec, wanted), spec.cost, spec.name),
    )
    first = [specs[name] for name in planned if name in specs]
    return _capped([*internal.values(), *first, *rest], kept=MAX_SECONDARY_FALLBACK_TOOLS, most_tokens=most_tokens)


def swap_in(
    offered: Sequence[str],
    found: Sequence[str],
    specs: Mapping[str, ToolSpec],
    internal: Mapping[str, ToolSpec],
    *,
    most_tokens: int,
) -> tuple[str, ...]:
    """Bring `found` on offer, behind the internal tools; the last of the others make room."""
    kept = [name for name in offered if name not in found and name not in internal]
    order = [*internal, *found, *kept]
    known = {**specs, **internal}
    return _capped(
        [known[name] for name in order if name in known], kept=MAX_SECONDARY_FALLBACK_TOOLS, most_tokens=most_tokens
    )


def tokens_of(spec: ToolSpec) -> int:
    """Give an upper estimate of what describing `spec` takes."""
    return int(len(spec.model_dump_json()) / BYTES_A_TOKEN) + 1


def _capped(specs: Sequence[ToolSpec], *, kept: int, most_tokens: int) -> tuple[str, ...]:
    """Take from the front what both caps allow. The first `kept` stay whatever they take."""
    chosen: list[str] = []
    used = 0
    for spec in specs:
        takes = tokens_of(spec)
        if len(chosen) >= MAX_AGENT_TOOL_SCHEMAS or (len(chosen) >= kept and used + takes > most_tokens):
            continue
        used += takes
        chosen.append(spec.name)
    return tuple(chosen)
