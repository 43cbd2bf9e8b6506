"""The tools of an investigation: each with the pinned context under which it reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inquest.domain.observation import Context, Provenance
from inquest.domain.tool import ToolSpec
from inquest.errors import ConfigurationError
from inquest.ports import Connector, Tool


@dataclass(frozen=True)
class BoundTool:
    """A tool and who asks through it; nothing of the context ever comes from a model."""

    tool: Tool
    context: Context

    @property
    def spec(self) -> ToolSpec:
        """Describe the tool."""
        return self.tool.spec

    @property
    def expected(self) -> Provenance:
        """Say what each of its observations must say of itself."""
        return Provenance(
            source=self.spec.source,
            signal=self.spec.signal,
            tenant=self.context.tenant,
            workspace=self.context.workspace,
        )


def bound_tools(connectors: Iterable[Connector]) -> dict[str, BoundTool]:
    """Give the tools of `connectors` by name, in their order.

    Raises ConfigurationError when two have the same name: a call names a tool and nothing else.
    """
    tools: dict[str, BoundTool] = {}
    for connector in connectors:
        for tool in connector.tools:
            if tool.spec.name in tools:
                raise ConfigurationError(
                    f"integrations: two of them offer the tool {tool.spec.name}; give one integration another name"
                )
            tools[tool.spec.name] = BoundTool(tool=tool, context=connector.context)
    return tools
