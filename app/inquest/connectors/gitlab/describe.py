"""The tools of GitLab as a model sees them."""

from __future__ import annotations

from collections.abc import Mapping

from inquest.connectors.gitlab.config import GitLabConfig
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.wire.tool_schema import text, tool_schema

DEPLOYMENT_STATUSES = ("created", "running", "success", "failed", "canceled", "skipped", "blocked")
MERGE_REQUEST_STATES = ("merged", "opened", "closed")
MAX_NAMED_PROJECTS = 20
"""Projects that a description lists."""


def deployments(config: GitLabConfig) -> ToolSpec:
    """Describe the deployments."""
    return _spec(
        config,
        "deployments",
        "List the deployments that began running in the time range: when, by whom, which revision, to which "
        "environment, and how they ended. The first thing to look at for a change before the trouble.",
        {
            "environment": text("Only deployments to this environment, as in production."),
            "status": {
                "type": "string",
                "enum": [*DEPLOYMENT_STATUSES],
                "description": "Only deployments with this status.",
            },
        },
        cost=2,
    )


def merge_requests(config: GitLabConfig) -> ToolSpec:
    """Describe the merge requests."""
    return _spec(
        config,
        "merge_requests",
        "List the merge requests that were merged in the time range: title, author, description, revision. With "
        "state opened or closed: those that were opened or closed in it.",
        {
            "state": {
                "type": "string",
                "enum": [*MERGE_REQUEST_STATES],
                "description": "What happened to them in the time range. Default: merged.",
            }
        },
        cost=2,
    )


def commits(config: GitLabConfig) -> ToolSpec:
    """Describe the commits."""
    return _spec(
        config,
        "commits",
        "List the commits of a branch in the time range: message, author, revision. For what no merge request shows: "
        "pushes to the branch, reverts, automated changes of configuration.",
        {"ref": text("Branch, tag or revision whose history is read. Default: the default branch.")},
        cost=2,
    )


def _spec(
    config: GitLabConfig, operation: str, description: str, properties: Mapping[str, Json], *, cost: int
) -> ToolSpec:
    named = ", ".join(config.projects[:MAX_NAMED_PROJECTS])
    more = len(config.projects) - MAX_NAMED_PROJECTS
    project = text(
        f"Project to read, by full path: one of {named}{f' and {more} more' if more > 0 else ''}. * reads all of "
        "them. Default: the one of the alert's service, or all where none is known for it.",
        most=255,
    )
    shared: dict[str, Json] = {
        "project": project,
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000,
            "description": "Most changes to show. Default: 500.",
        },
        "cursor": text("The next_cursor of an earlier answer to the same query: the page after it.", most=4_096),
    }
    return ToolSpec(
        name=f"{config.tool_prefix}_{operation}",
        description=description,
        parameters=tool_schema({**properties, **shared}),
        source=config.name,
        signal="changes",
        cost=cost,
    )
