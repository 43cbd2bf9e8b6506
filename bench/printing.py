"""Tables for the eye, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from bench.machine import Machine
from bench.rows import DISTURBED_SHARE, Aim, Row
from bench.summary import short
from inquest.domain.value import Json

HEAD = ("what", "figures", "aim", "met", "other CPU", "loop", "")
MET = {True: "yes", False: "NO", None: "-"}
DISTURBED = "DISTURBED"


def best_loop_ms(rows: Sequence[Row], loops_ms: Sequence[float]) -> float:
    """Give the shortest calibration loop that was seen: the machine at its quietest."""
    return min([*loops_ms, *(row.surroundings.loop_ms for row in rows)])


def printed(rows: Sequence[Row], machine: Machine, *, loop_ms: float, load_after: float) -> str:
    """Write the machine, a table for each bench, and how to read the last columns. `loop_ms` is the best loop."""
    lines = [*_machine(machine, load_after)]
    for bench, found in groupby(rows, key=lambda row: row.bench):
        cells = [HEAD, *(_cells(row, machine.cores, loop_ms) for row in found)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD) - 1)]
        lines += ["", bench.replace("_", " ")]
        lines += [
            "  "
            + "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
            for line in cells
        ]
    lines += [
        "",
        "other CPU: cores that processes other than ours kept busy meanwhile, of those there are.",
        f"DISTURBED: that was over {DISTURBED_SHARE:.0%} of them, and the figure is not this machine's.",
        f"loop: what a fixed piece of arithmetic took around it, in times of the best of this run ({short(loop_ms)} ms).",
        "Figures are those of a quiet machine only where both are small.",
    ]
    return "\n".join(lines)


def as_json(rows: Sequence[Row], machine: Machine, *, loop_ms: float, load_after: float) -> Json:
    """Give everything, `met` and the ratio of the loop included."""
    return {
        "machine": machine.model_dump(mode="json"),
        "load_after": load_after,
        "best_loop_ms": loop_ms,
        "rows": [
            {
                **row.model_dump(mode="json"),
                "met": row.met,
                "disturbed": row.surroundings.disturbed(machine.cores),
                "loop_ratio": row.surroundings.loop_ms / loop_ms,
            }
            for row in rows
        ],
    }


def _machine(machine: Machine, load_after: float) -> tuple[str, ...]:
    return (
        f"{machine.cores} cores ({machine.processor}), {machine.memory_mb:,} MB, {machine.kernel}",
        f"Python {machine.python}, {machine.postgres}, {machine.file_system}: {short(machine.sync_ms)} ms to sync a page",
        f"load average {short(machine.load)} before, {short(load_after)} after",
    )


def _cells(row: Row, cores: int, loop_ms: float) -> tuple[str, ...]:
    seen = row.surroundings
    return (
        row.what,
        "  ".join(f"{figure.name} {short(figure.value)} {figure.unit}".rstrip() for figure in row.figures),
        ", ".join(_aim(aim) for aim in row.aims) or "-",
        MET[row.met],
        "unknown"
        if seen.other_cores is None
        else f"{seen.other_cores:.2f} of {cores} {DISTURBED if seen.disturbed(cores) else ''}".rstrip(),
        f"{seen.loop_ms / loop_ms:.2f}x",
        row.note,
    )


def _aim(aim: Aim) -> str:
    bounds = [f"{sign} {short(bound)}" for sign, bound in (("<=", aim.most), (">=", aim.least)) if bound is not None]
    return f"{aim.figure} {' '.join(bounds)}"
