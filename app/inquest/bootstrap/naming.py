"""What the tools of each integration are called: a call names a tool and nothing else, so no two share a name."""

from __future__ import annotations

from collections.abc import Mapping

MAX_PREFIX_CHARS = 40
"""With the longest operation a tool's name stays below the 64 characters that model providers take."""


def tool_prefixes(types: Mapping[str, str]) -> dict[str, str]:
    """Give what the tool names of each integration begin with. `types` is the type of each, in the file's order.

    The first of a type begins with the type: the table of seed calls knows these. Each further one begins
    with its own name, so that two Prometheus of one workspace are told apart by who asks.
    """
    prefixes: dict[str, str] = {}
    taken = set(types.values())
    seen: set[str] = set()
    for name, kind in types.items():
        prefixes[name] = _own(name, kind, taken) if kind in seen else kind
        taken.add(prefixes[name])
        seen.add(kind)
    return prefixes


def _own(name: str, kind: str, taken: set[str]) -> str:
    """Give the name as a prefix: with the type before it where it is taken or begins with a digit."""
    own = name.replace("-", "_")
    wanted = own if own[0].isalpha() and len(own) <= MAX_PREFIX_CHARS else f"{kind}_{own}"[:MAX_PREFIX_CHARS]
    if wanted not in taken:
        return wanted
    numbered = (f"{f'{kind}_{own}'[: MAX_PREFIX_CHARS - 4]}_{number}" for number in range(2, 1_000))
    return next(one for one in (f"{kind}_{own}"[:MAX_PREFIX_CHARS], *numbered) if one not in taken)
