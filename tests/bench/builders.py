"""Rows with figures by name."""

from __future__ import annotations

from bench.rows import Aim, Figure, Row, Surroundings

UNITS = {"rate": "/s", "p99": "ms"}


def row(*, aims: tuple[Aim, ...] = (), loop_ms: float = 8.0, other_cores: float | None = 0.5, **figures: float) -> Row:
    return Row(
        bench="intake",
        what="what it is",
        figures=tuple(Figure(name=name, value=value, unit=UNITS[name]) for name, value in figures.items()),
        aims=aims,
        surroundings=Surroundings(other_cores=other_cores, loop_ms=loop_ms),
    )
