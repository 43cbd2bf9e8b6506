"""What is still to be read of a list over several projects, and its cursor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_WRITTEN = re.compile(r"([0-9a-f]{8});(\d{1,4});((?:\d{1,4}:\d{1,6}(?:,(?!$))?)*)")


@dataclass(slots=True)
class Work:
    """The pages to read: the first ones of the projects from `unread` on, then those that followed others.

    `later` holds (place of the project, page). Projects are known by their place among `projects`.
    """

    projects: Sequence[str]
    unread: int = 0
    later: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, projects: Sequence[str], cursor: str) -> Work | None:
        """Read what `write` wrote; None for anything else, and when it was written over other projects."""
        found = _WRITTEN.fullmatch(cursor)
        if found is None or found[1] != _name_of(projects):
            return None
        later = [(int(place), int(page)) for place, page in (one.split(":") for one in found[3].split(",") if one)]
        if int(found[2]) > len(projects) or any(place >= len(projects) for place, _ in later):
            return None
        return cls(projects, int(found[2]), later)

    def write(self) -> str | None:
        """Write the provider cursor; None when nothing is left to read."""
        if not self:
            return None
        return f"{_name_of(self.projects)};{self.unread};{','.join(f'{place}:{page}' for place, page in self.later)}"

    def __bool__(self) -> bool:
        """Say whether something is left to read."""
        return self.unread < len(self.projects) or bool(self.later)

    def take(self, most: int) -> list[tuple[int, int]]:
        """Take at most `most` pages: every project's first before any second."""
        firsts = [(place, 1) for place in range(self.unread, min(len(self.projects), self.unread + most))]
        self.unread += len(firsts)
        rest = most - len(firsts)
        taken, self.later = self.later[:rest], self.later[rest:]
        return [*firsts, *taken]


def _name_of(projects: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(projects).encode()).hexdigest()[:8]
