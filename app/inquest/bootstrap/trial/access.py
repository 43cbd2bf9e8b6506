"""How a source is reached, as the options of the command line say it: secrets by variable or file only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import SecretStr, ValidationError

from inquest import address
from inquest.bootstrap.credentials import credential
from inquest.bootstrap.paths import at
from inquest.configuration.sections import Credential as CredentialSection
from inquest.configuration.sections import IntegrationSection
from inquest.errors import ConfigurationError
from inquest.settings import secret, secret_headers
from inquest.wire.endpoint import Credential, Endpoint

Kind = Literal["prometheus", "loki"]


@dataclass(frozen=True)
class Access:
    """One source: `option` names its URL on the command line, `prefix` begins the options that go with it."""

    kind: Kind
    url: str
    token_env: str | None = None
    token_file: str | None = None
    username: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    headers_file: str | None = None
    ca_file: str | None = None

    @property
    def option(self) -> str:
        """Give the option that its URL came by."""
        return f"--{self.kind}"

    @property
    def prefix(self) -> str:
        """Give what the options of its credential begin with."""
        return "--" if self.kind == "prometheus" else "--loki-"

    @property
    def has_credential(self) -> bool:
        """Say whether any way to authenticate was given."""
        return any((self.token_env, self.token_file, self.username, self.headers_file))


@dataclass(frozen=True)
class Reached:
    """A source that can be asked: its section of a configuration, and where and as whom its door asks."""

    access: Access
    section: IntegrationSection
    endpoint: Endpoint
    credential: Credential


def reach(access: Access) -> Reached:
    """Read the secrets that `access` names, and check its URL. Raises ConfigurationError naming the option."""
    if address.plain(access.url) is None:
        msg = f"{access.option}: {address.WRITE_SO}"
        raise ConfigurationError(msg)
    headers = _secrets(access)
    section = _section(access)
    try:
        endpoint = Endpoint(base_url=access.url, ca_file=section.ca_file, secret_headers=dict(headers))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        option = access.option if first["loc"] == ("base_url",) else f"{access.prefix}headers-file"
        msg = f"{option}: {first['msg'].removeprefix('Value error, ')}"
        raise ConfigurationError(msg) from None
    return Reached(access, section, endpoint, credential(section.credential, access.option))


def _secrets(access: Access) -> Mapping[str, SecretStr]:
    """Read every secret once, so that what is wrong with one is said by its option. Gives the further headers."""
    for what, env, file in (
        ("token", access.token_env, access.token_file),
        ("password", access.password_env, access.password_file),
    ):
        field = f"{access.prefix}{what}"
        try:
            secret(env=env, file=file, field=field)
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace(f"{field}_", f"{field}-")) from None
    has_password = bool(access.password_env or access.password_file)
    if has_password != bool(access.username):
        msg = f"{access.prefix}username: goes together with {access.prefix}password-env or {access.prefix}password-file"
        raise ConfigurationError(msg)
    if has_password and (access.token_env or access.token_file):
        msg = f"{access.prefix}username: give a token or a user, not both"
        raise ConfigurationError(msg)
    return secret_headers(access.headers_file, f"{access.prefix}headers-file")


def _section(access: Access) -> IntegrationSection:
    """Write what a configuration would say of it; files are named by their absolute paths."""
    here = Path.cwd()

    def absolute(file: str | None) -> str | None:
        return None if file is None else str(at(here, file))

    given = CredentialSection(
        profile=f"try-{access.kind}" if access.token_env or access.token_file or access.username else "",
        bearer_env=access.token_env,
        bearer_file=absolute(access.token_file),
        basic_username=access.username,
        basic_password_env=access.password_env,
        basic_password_file=absolute(access.password_file),
    )
    return IntegrationSection(
        type=access.kind,
        url=access.url,
        ca_file=absolute(access.ca_file),
        credential=given,
        headers_file=absolute(access.headers_file),
    )
