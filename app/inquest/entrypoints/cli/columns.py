"""Rows as text in columns. Nothing is cut, whatever the terminal's width: what is shown is for copying. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inquest.destinations.shared.escape import terminal


def columns(rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Give a line a row, each cell safe for a terminal and as wide as the widest of its column."""
    safe = [[terminal(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    return [indent + "  ".join(_padded(row, widths)).rstrip() for row in safe]


def _padded(row: Iterable[str], widths: Sequence[int]) -> Iterable[str]:
    return (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
