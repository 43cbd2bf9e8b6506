"""How much of a model's window each part of a request may take, in tokens and in bytes of text."""

from __future__ import annotations

from inquest.domain.budget import RESULT_CONTEXT_SHARE, SCHEMA_CONTEXT_SHARE, Limits

ANSWER_SHARE = 0.25
"""The answer never takes more of the window than this, whatever max_output_tokens says."""
BRIEF_SHARE = 0.10
"""Alert, facts and plan."""
SEEDS_SHARE = 0.12
"""All seed answers together: they stay for good."""
BATCH_SHARE = 0.20
"""All answers of the newest batch together: they were not seen yet."""
INDEX_SHARE = 0.10
"""The table of everything that was asked."""
FILL = 0.85
"""Once something must be evicted, go down to this share of the room, so that not every turn evicts."""
BYTES_A_TOKEN = 2.5
"""To turn tokens into bytes of evidence text without a tokenizer: numbers and times take 2 to 3 bytes a token."""
MIN_BYTES = 160
"""Whatever the share, an answer may show this much."""


def answer_tokens(limits: Limits) -> int:
    """Give what the model may write."""
    return min(limits.max_output_tokens, int(limits.context_window_tokens * ANSWER_SHARE))


def room_tokens(limits: Limits) -> int:
    """Give what a request may take: the window less the answer."""
    return limits.context_window_tokens - answer_tokens(limits)


def schema_tokens(limits: Limits) -> int:
    """Give what the described tools may take together."""
    return int(limits.context_window_tokens * SCHEMA_CONTEXT_SHARE)


def result_bytes(limits: Limits, *, of: int = 1, share: float = RESULT_CONTEXT_SHARE) -> int:
    """Give the bytes that one of `of` answers may show, which together may take `share` of the window."""
    each = min(limits.context_window_tokens * RESULT_CONTEXT_SHARE, limits.context_window_tokens * share / max(of, 1))
    return max(int(each * BYTES_A_TOKEN), MIN_BYTES)


def part_bytes(limits: Limits, share: float) -> int:
    """Give the bytes that a part with `share` of the window may take."""
    return int(limits.context_window_tokens * share * BYTES_A_TOKEN)
