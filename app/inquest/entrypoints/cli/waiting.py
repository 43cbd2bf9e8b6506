"""How a waiting investigation is shown: what it asks, and what to type. Pure, and safe for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inquest.destinations.shared.escape import terminal


def question_of(row: Mapping[str, Any]) -> str:
    """Give what a row asks; "" where it asks nothing."""
    question = row.get("question")
    return terminal(str(question["prompt"])) if isinstance(question, Mapping) else ""


def how_to_answer(row: Mapping[str, Any]) -> str:
    """Give the command that answers a row's question, with its last moment; "" where it asks nothing."""
    question = row.get("question")
    if not isinstance(question, Mapping):
        return ""
    until = terminal(str(question["expires_at"]))[:19].replace("T", " ")
    return f'inquest answer {terminal(str(row["id"]))} "TEXT" (until {until} UTC)'
