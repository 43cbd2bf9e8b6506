"""What asking a Prometheus came to: what it said, what of it is investigated, and by which doors."""

from __future__ import annotations

from dataclasses import dataclass

from inquest.bootstrap.trial.access import Reached
from inquest.bootstrap.trial.choosing import Group, Standing


@dataclass(frozen=True)
class Found:
    """What the Prometheus said, and the group that is investigated; None when nothing fires."""

    standing: Standing
    group: Group | None
    sources: tuple[Reached, ...]
