"""A credential as the configuration names it, read into the one that a door sends. Quick to import."""

from __future__ import annotations

from pydantic import SecretStr

from inquest.configuration.sections import Credential as CredentialSection
from inquest.errors import ConfigurationError
from inquest.settings import secret
from inquest.wire.endpoint import Anonymous, Basic, Bearer, Credential, HeaderToken


def credential(section: CredentialSection, field: str) -> Credential:
    """Read the secret that `section` names. Raises ConfigurationError naming `field` and the variable or file."""
    bearer = secret(env=section.bearer_env, file=section.bearer_file, field=f"{field}.bearer")
    password = secret(env=section.basic_password_env, file=section.basic_password_file, field=f"{field}.basic_password")
    token = secret(env=section.token_env, file=section.token_file, field=f"{field}.token")
    if bearer is not None:
        return Bearer(token=bearer)
    if password is not None:
        return Basic(username=section.basic_username or "", password=password)
    if token is not None:
        return _with_header(token, section.header, field)
    return Anonymous()


def _with_header(token: SecretStr, header: str | None, field: str) -> Credential:
    if header is None:
        msg = f"{field}.header: name the header that carries the token, such as PRIVATE-TOKEN"
        raise ConfigurationError(msg)
    return HeaderToken(header=header, token=token)
