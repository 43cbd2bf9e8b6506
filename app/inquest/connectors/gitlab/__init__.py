"""GitLab: deployments, merge requests and commits of the configured projects. Read only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, urlencode

from inquest.connectors.gitlab import describe
from inquest.connectors.gitlab.config import API, TOKEN_HEADER, GitLabConfig
from inquest.connectors.gitlab.operations import Operations
from inquest.domain.failure import Failure
from inquest.domain.observation import Context, Query
from inquest.ports import Clock, Tool
from inquest.wire.answer import read_json, status_failure
from inquest.wire.cursor import CursorKey
from inquest.wire.read_tool import Grounds, ReadTool
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport

__all__ = ["TOKEN_HEADER", "GitLabConfig", "GitLabConnector", "create_gitlab_connector"]

HEALTH_TIMEOUT_S = 3.0


def create_gitlab_connector(
    config: GitLabConfig,
    transport: Transport,
    *,
    clock: Clock,
    cursor_key: CursorKey,
    redactor: Redactor | None = None,
) -> GitLabConnector:
    """Give the connector of one integration.

    `transport` is to what stands before /api/v4, and sends the token in TOKEN_HEADER; `redactor` knows the
    configured secret values. Closing the connector closes the transport.
    """
    known = redactor or Redactor()
    grounds = Grounds(context=config.context, transport=transport, clock=clock, cursor_key=cursor_key, redactor=known)
    do = Operations(config, known)
    return GitLabConnector(
        config,
        transport,
        clock,
        (
            ReadTool(describe.deployments(config), grounds, arrange=do.arguments, fetch=do.deployments),
            ReadTool(
                describe.merge_requests(config), grounds, arrange=do.merge_request_arguments, fetch=do.merge_requests
            ),
            ReadTool(describe.commits(config), grounds, arrange=do.arguments, fetch=do.commits),
        ),
    )


class GitLabConnector:
    """One integration with GitLab (ports.Connector)."""

    type = "gitlab"

    def __init__(self, config: GitLabConfig, transport: Transport, clock: Clock, tools: Sequence[Tool]) -> None:
        self._config = config
        self._transport = transport
        self._clock = clock
        self.tools = tools

    @property
    def name(self) -> str:
        """Give the integration's name."""
        return self._config.name

    @property
    def context(self) -> Context:
        """Give the pinned context."""
        return self._config.context

    def link(self, query: Query) -> str:
        """Give the project's page of what `query` lists, "" where it is about several projects or none."""
        project = query.arguments.get("project")
        targets = self._config.targets(None if project is None else str(project), query.service_id)
        if len(targets) != 1 or not self._config.url:
            return ""
        base = f"{self._config.url.rstrip('/')}/{targets[0]}/-"
        match query.tool.removeprefix(f"{self._config.tool_prefix}_"):
            case "deployments":
                return f"{base}/environments"
            case "merge_requests":
                return f"{base}/merge_requests?{urlencode({'scope': 'all', 'state': query.arguments.get('state', 'merged')})}"
            case _:
                return f"{base}/commits/{quote(str(query.arguments.get('ref', '')))}".rstrip("/")

    async def health(self) -> Literal["ok", "failing"]:
        """Ask for the first project: the cheapest question that shows the token to be one for the projects."""
        answer = await self._transport.get((*API, "projects", self._config.projects[0]), timeout_s=HEALTH_TIMEOUT_S)
        if isinstance(answer, Failure) or status_failure(answer, now=self._clock.now()) is not None:
            return "failing"
        return "ok" if isinstance(read_json(answer), dict) else "failing"

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()
