"""Play schedules alone: `python -m tests.machine 4711` tells the story of one, `python -m tests.machine 0 100000` many."""

from __future__ import annotations

import sys

from tests.machine.memory import first_broken, judged, told
from tests.machine.schedule import drawn


def main(first: int, past: int) -> int:
    """Play the seeds from `first` up to `past`, and tell a single one; 1 when a rule is broken."""
    broken = first_broken(range(first, past))
    if broken is not None:
        sys.stdout.write(told(broken) + "\n")
        return 1
    if past == first + 1:
        sys.stdout.writelines(f"{call} -> {answer!r}\n" for call, answer in judged(drawn(first)).told)
    sys.stdout.write(f"machine: {past - first} schedules, 0 broken\n")
    return 0


if __name__ == "__main__":
    seeds = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(seeds[0], seeds[1] if seeds[1:] else seeds[0] + 1))
