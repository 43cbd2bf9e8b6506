"""The destinations of a workspace, built from their sections: one message each, or the two of a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from inquest.configuration.destination import DestinationSection
from inquest.destinations.folder import FolderConfig, create_folder_destination
from inquest.destinations.gitlab import GitlabNoteConfig, create_gitlab_note_destination
from inquest.destinations.slack import SlackConfig, create_slack_destinations
from inquest.domain.delivery import REPLY, ROOT, message_name
from inquest.errors import ConfigurationError, UnreadableFile
from inquest.files import read_file
from inquest.ports import Destination, Signer
from inquest.wire.endpoint import MAX_CA_BYTES


@dataclass(frozen=True)
class Outlet:
    """What a destination is built from. `folder` is its path as an absolute one; `link_hosts` are allowed in links."""

    name: str
    section: DestinationSection
    token: SecretStr | None
    folder: Path
    signer: Signer
    link_hosts: tuple[str, ...]

    @property
    def secret(self) -> SecretStr:
        """Give the token: its section was refused without one."""
        return self.token or SecretStr("")


def _folder(outlet: Outlet) -> dict[str, Destination]:
    config = FolderConfig(path=str(outlet.folder))
    made = create_folder_destination(outlet.name, config, signer=outlet.signer, link_hosts=outlet.link_hosts)
    return {outlet.name: made}


def _slack(outlet: Outlet) -> dict[str, Destination]:
    section = outlet.section
    config = SlackConfig(channel=section.channel, token=outlet.secret, api_url=section.api_url)
    return {**create_slack_destinations(outlet.name, config, link_hosts=outlet.link_hosts)}


def _gitlab_note(outlet: Outlet) -> dict[str, Destination]:
    section = outlet.section
    config = GitlabNoteConfig(
        url=section.url,
        token=outlet.secret,
        project=section.project,
        issue=section.issue,
        origin_projects=section.origin_projects,
        ca_file=_authority(section.ca_file),
    )
    return {outlet.name: create_gitlab_note_destination(outlet.name, config, link_hosts=outlet.link_hosts)}


def _authority(ca_file: str | None) -> str:
    """Give the path of a file of certificates, "" for none. Raises ConfigurationError where it is no file."""
    if ca_file is None:
        return ""
    try:
        read_file(Path(ca_file), most=MAX_CA_BYTES)
    except UnreadableFile as error:
        msg = f"ca_file {ca_file}: no certificates can be read from it ({error})"
        raise ConfigurationError(msg) from error
    return ca_file


DESTINATIONS: dict[str, Callable[[Outlet], dict[str, Destination]]] = {
    "folder": _folder,
    "slack": _slack,
    "gitlab_note": _gitlab_note,
}
"""By type: what builds the messages of a destination, by their own names."""
_MESSAGES: dict[str, tuple[str, ...]] = {"slack": (ROOT, REPLY)}
"""Types with several messages."""


def messages_of(destinations: Mapping[str, DestinationSection]) -> dict[str, tuple[str, ...]]:
    """Name the messages of each destination: what a route to it plans."""
    return {
        name: tuple(message_name(name, one) for one in _MESSAGES.get(section.type, ())) or (name,)
        for name, section in destinations.items()
    }
