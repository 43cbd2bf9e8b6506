"""A destination's section of the configuration file: the keys of all types, and which of them each type has."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from inquest.configuration.shape import CHANNEL_OR_NONE, PROJECT_OR_NONE, Address, AddressOrNone, Section

COMMON = frozenset({"type", "allowed_link_hosts"})
KEYS: dict[str, frozenset[str]] = {
    "folder": frozenset({"path"}),
    "slack": frozenset({"channel", "api_url", "token_env", "token_file"}),
    "gitlab_note": frozenset({"url", "project", "issue", "origin_projects", "ca_file", "token_env", "token_file"}),
}
NEEDED: dict[str, tuple[str, ...]] = {"folder": ("path",), "slack": ("channel",), "gitlab_note": ("url",)}
WITH_TOKEN = frozenset({"slack", "gitlab_note"})


def _folder(path: str) -> str:
    """Take a path that a folder can have. Raises ValueError saying what is wrong with it."""
    if path and not path.strip():
        msg = "is empty: write the folder for reports, as in /var/lib/inquest/reports"
        raise ValueError(msg)
    if not path.isprintable():
        msg = "holds a control character: write the folder for reports, as in /var/lib/inquest/reports"
        raise ValueError(msg)
    return path


class DestinationSection(Section):
    """Where reports go."""

    type: Literal["folder", "slack", "gitlab_note"]
    path: Annotated[str, AfterValidator(_folder)] = ""
    """folder: the folder; it is made if its parent exists."""
    channel: str = Field(default="", pattern=CHANNEL_OR_NONE)
    """slack: the channel's id."""
    api_url: Address = "https://slack.com/api"
    """slack: another address, for a proxy that stands before Slack."""
    url: AddressOrNone = ""
    """gitlab_note: what stands before /api/v4."""
    project: str = Field(default="", pattern=PROJECT_OR_NONE)
    issue: int | None = Field(default=None, ge=1)
    """gitlab_note: the project and the number of the issue that notes are written on."""
    origin_projects: tuple[str, ...] = ()
    """gitlab_note: an alert that an incident of these raised is answered on that incident."""
    ca_file: str | None = None
    token_env: str | None = None
    token_file: str | None = None
    allowed_link_hosts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _keys_are_of_its_type(self) -> Self:
        foreign = sorted(self.model_fields_set - COMMON - KEYS[self.type])
        if foreign:
            msg = f"{foreign[0]} is no key of a {self.type} destination; it has {', '.join(sorted(KEYS[self.type]))}"
            raise ValueError(msg)
        missing = [name for name in NEEDED[self.type] if not getattr(self, name)]
        if self.type in WITH_TOKEN and not (self.token_env or self.token_file):
            missing.append("token_env or token_file")
        if missing:
            msg = f"a {self.type} destination needs {missing[0]}"
            raise ValueError(msg)
        if self.type == "gitlab_note":
            self._check_issue()
        return self

    def _check_issue(self) -> None:
        if bool(self.project) != (self.issue is not None):
            msg = "project and issue go together"
            raise ValueError(msg)
        if not self.project and not self.origin_projects:
            msg = "a gitlab_note destination needs project and issue, or origin_projects"
            raise ValueError(msg)
