"""What an integration with GitLab is told, and where its API is."""

from __future__ import annotations

import re
from datetime import timedelta

from pydantic import Field, field_validator

from inquest.domain.observation import Context
from inquest.domain.value import Labels, Value

API = ("api", "v4")
TOKEN_HEADER = "PRIVATE-TOKEN"  # noqa: S105  # the name of a header
EVERY_PROJECT = "*"
PER_PAGE = 100
"""GitLab's own maximum."""
MAX_REQUESTS = 10
"""Projects, or pages of them, that one call reads."""
MAX_DETAIL_CHARS = 2_000
"""What is kept of a description or a commit message."""
LATER = timedelta(minutes=1)
"""A merge or a start may carry a moment a little after the record's updated_at, by which GitLab selects."""

_PATH = re.compile(r"^(?!\.{1,2}/)[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.][A-Za-z0-9_.-]*)+\Z")
_MAX_PATH_CHARS = 255


class GitLabConfig(Value):
    """One integration. `context` is its identity, whose pins an investigation must carry.

    `projects` are the only ones that are read, by full path. `repositories` (service: project) says where a
    service's code is; where it does not, a project whose last part is the service's name. `environments`, when
    there are any, are the only ones whose deployments are read. `url` is where a human opens GitLab.
    `tool_prefix` begins every tool's name; the table of seed calls knows "gitlab".
    """

    name: str
    context: Context
    url: str
    projects: tuple[str, ...] = Field(min_length=1, max_length=500)
    repositories: Labels = Field(default_factory=dict)
    environments: tuple[str, ...] = ()
    tool_prefix: str = Field(default="gitlab", pattern=r"^[a-z][a-z0-9_]{0,39}$")

    @field_validator("projects")
    @classmethod
    def _paths(cls, projects: tuple[str, ...]) -> tuple[str, ...]:
        for path in projects:
            if not _PATH.match(path) or len(path) > _MAX_PATH_CHARS:
                msg = f"projects: {path!r} is no full path such as shop/checkout"
                raise ValueError(msg)
        if len(set(projects)) < len(projects):
            msg = "projects: one is named twice"
            raise ValueError(msg)
        return projects

    def project_of(self, service: str) -> str | None:
        """Give the configured project of `service`, None where none or several could be it."""
        named = self.repositories.get(service)
        if named is not None:
            return named if named in self.projects else None
        alike = [path for path in self.projects if service_of(path) == service]
        return alike[0] if len(alike) == 1 else None

    def targets(self, project: str | None, service: str) -> tuple[str, ...]:
        """Give the projects that a query is about: the one it names (EVERY_PROJECT: all), its service's, else all.

        An empty tuple says that it names one that may not be read.
        """
        if project == EVERY_PROJECT:
            return self.projects
        if project is not None:
            return (project,) if project in self.projects else ()
        own = self.project_of(service)
        return self.projects if own is None else (own,)


def service_of(project: str) -> str:
    """Give the last part of a project's path."""
    return project.rsplit("/", 1)[-1]
