"""Seeded chance: one independent stream of numbers for each part of a recording."""

from __future__ import annotations

import hashlib
import random

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # what Kubernetes makes suffixes of
_SHA_DIGITS = 40


def noise(seed: int, part: str) -> random.Random:
    """Give the numbers of `part`. Changing what one part draws leaves the others as they were."""
    return random.Random(f"{seed}/{part}")  # noqa: S311 - a recording must come out the same again


def suffix(chance: random.Random, length: int) -> str:
    """Give the random end of a pod's name."""
    return "".join(chance.choice(_LETTERS) for _ in range(length))


def commit_sha(seed: int, name: str) -> str:
    """Give 40 hex digits for the commit called `name`."""
    return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()[:_SHA_DIGITS]
