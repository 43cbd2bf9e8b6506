"""What the loop is bound to, beside its door to the outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from inquest.domain.event import EpisodeChanged
from inquest.domain.evidence import EvidenceItem
from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import ModelRequest
from inquest.ports import Connector, Investigator
from inquest.stages.cost import Price, costs_nothing
from inquest.stages.gather_evidence.render import evidence_text
from inquest.stages.tools import BoundTool, bound_tools


async def no_changes() -> EpisodeChanged | None:
    """Say that the episode is as it was."""
    return None


@dataclass(frozen=True)
class Frame:
    """What rendering needs beside the journal: the described tools, and the boundary around foreign text.

    `boundary` is derived from the installation key and the investigation's id, so that it is the same in
    every worker and cannot be guessed by whoever writes the text inside.
    """

    tools: dict[str, ToolSpec]
    boundary: str
    _texts: dict[tuple[str, str, int], str] = field(default_factory=dict, repr=False, compare=False)

    def rendered(self, item: EvidenceItem, most_bytes: int) -> str:
        """Render one item; the text of each size is made once, for every request shows it again."""
        key = (item.name, item.observation_id, most_bytes)
        if key not in self._texts:
            self._texts[key] = evidence_text(item, self.boundary, most_bytes)
        return self._texts[key]


@dataclass(frozen=True)
class GatherKit:
    """Everything stage 4 is bound to for one claimed investigation.

    `count_tokens` and `price` are the Model's own (0 for the analyst). `episode_changes` gives, between turns, what
    has joined or resolved since the journal's last such event.
    """

    investigator: Investigator
    connectors: Sequence[Connector]
    count_tokens: Callable[[ModelRequest], int]
    boundary: str
    price: Price = costs_nothing
    episode_changes: Callable[[], Awaitable[EpisodeChanged | None]] = no_changes
    tools: dict[str, BoundTool] = field(init=False)
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        tools = bound_tools(self.connectors)
        specs = {name: bound.spec for name, bound in tools.items()}
        object.__setattr__(self, "tools", tools)
        object.__setattr__(self, "frame", Frame(tools=specs, boundary=self.boundary))
