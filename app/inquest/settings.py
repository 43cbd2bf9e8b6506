"""Process settings: the only reader of the environment, and the only opener of secret files."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from inquest import address, crash
from inquest.errors import ConfigurationError, UnreadableFile
from inquest.files import read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SECRET_BYTES = 65_536


def _home() -> Path:
    """Give where an installation lies unless told otherwise. Raises ConfigurationError for a user without a home."""
    try:
        return Path.home() / ".local" / "share" / "inquest"
    except RuntimeError as error:
        msg = "INQUEST_HOME: this user has no home folder; name a folder for the embedded database and its key"
        raise ConfigurationError(msg) from error


Place = Annotated[Path, AfterValidator(Path.expanduser)]


_MODELS = re.compile(r"[^\s,]+(?:,[^\s,]+)*")
_PRICE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?/[0-9]{1,6}(?:\.[0-9]{1,6})?")


def _written(form: re.Pattern[str], words: str, text: str) -> str:
    """Give `text` when it has the form. Raises ValueError with `words`."""
    if not form.fullmatch(text):
        raise ValueError(words)
    return text


class Settings(BaseSettings):
    """What one process is told by its environment (INQUEST_*). A variable that is empty is one that is not set.

    Without `database_url` the embedded Postgres runs under `home`.
    """

    model_config = SettingsConfigDict(env_prefix="INQUEST_", frozen=True, extra="ignore", env_ignore_empty=True)

    database_url: SecretStr | None = None
    home: Place = Field(default_factory=_home)
    config: Place | None = None
    key_file: Place | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8417, ge=0, le=65_535)
    worker_metrics_host: str = "127.0.0.1"
    worker_metrics_port: int | None = Field(default=None, ge=0, le=65_535)
    """Where a worker shows its metrics; None shows them nowhere."""
    url: Annotated[str, AfterValidator(address.checked)] | None = None
    """A running service: `investigate` posts there instead of starting everything in its own process."""
    intake_token: SecretStr | None = None
    """The bearer token of the intake at `url`."""
    operator_token: SecretStr | None = None
    operator_token_file: Place | None = None
    concurrency: int = Field(default=4, ge=1, le=64)
    lease_s: float = Field(default=6.0, ge=0.5, le=300)
    drain_grace_s: float = Field(default=20.0, ge=0, le=24)
    model: (
        Annotated[str, AfterValidator(partial(_written, _MODELS, "write NAME, or NAME,NAME in the order to ask"))]
        | None
    ) = None
    """`try` alone: the models to ask, by commas, in order. What runs from a file has its models there."""
    model_base_url: Annotated[str, AfterValidator(address.checked)] | None = None
    model_api_key: SecretStr | None = None
    model_api_key_file: Place | None = None
    model_context_window_tokens: int | None = Field(default=None, ge=4_000)
    model_price: Annotated[str, AfterValidator(partial(_written, _PRICE, "write INPUT/OUTPUT, as in 3/15"))] | None = (
        None
    )
    """Dollars per million tokens, INPUT/OUTPUT."""
    sentry_dsn: SecretStr | None = None
    crash_at: Annotated[str, AfterValidator(crash.checked)] | None = None
    """For tests of durability only: the crash point at which this process ends itself."""
    log_format: str = Field(default="json", pattern="^(json|console)$")
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")


def secret(*, env: str | None, file: str | None, field: str) -> SecretStr | None:
    """Read the secret that `field` of the configuration names, or None when it names none.

    Raises ConfigurationError naming the field and the variable or file, never a value. A trailing newline
    of a file is not part of the secret.
    """
    if env is not None and file is not None:
        msg = f"{field}: give {field}_env or {field}_file, not both"
        raise ConfigurationError(msg)
    if env is not None:
        value = os.environ.get(env, "")
        if not value:
            msg = f"{field}_env: the variable {env} is not set or empty"
            raise ConfigurationError(msg)
        return SecretStr(value)
    if file is not None:
        return SecretStr(_read_secret(Path(file), f"{field}_file"))
    return None


def secret_headers(file: str | None, field: str) -> dict[str, SecretStr]:
    """Read headers from a file, a line `Name: value` each; empty lines and those that begin with # say nothing.

    Raises ConfigurationError naming `field`, the file and the line, never a value.
    """
    if file is None:
        return {}
    found: dict[str, SecretStr] = {}
    for number, line in enumerate(_read_secret(Path(file), field).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or not value.strip():
            msg = f"{field}: {file}:{number}: write a header as Name: value"
            raise ConfigurationError(msg)
        if name.strip().lower() in {one.lower() for one in found}:
            msg = f"{field}: {file}:{number}: the header {name.strip()} is here twice"
            raise ConfigurationError(msg)
        found[name.strip()] = SecretStr(value.strip())
    return found


def _read_secret(path: Path, field: str) -> str:
    try:
        value = read_file(path, most=MAX_SECRET_BYTES).decode("utf-8").rstrip("\r\n")
    except UnreadableFile as error:
        msg = f"{field}: {path} cannot be read ({error}); name a file that holds the secret and nothing else"
        raise ConfigurationError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{field}: {path} cannot be read as text; name a file that holds the secret and nothing else"
        raise ConfigurationError(msg) from error
    if not value:
        msg = f"{field}: {path} is empty"
        raise ConfigurationError(msg)
    return value


def operator_token(settings: Settings) -> SecretStr | None:
    """Give the operator's token, by environment or file.

    Raises ConfigurationError for both, for an unreadable file, and for one that no request can carry.
    """
    if settings.operator_token is not None and settings.operator_token_file is not None:
        msg = "INQUEST_OPERATOR_TOKEN and INQUEST_OPERATOR_TOKEN_FILE: give one"
        raise ConfigurationError(msg)
    if settings.operator_token_file is not None:
        token = SecretStr(_read_secret(settings.operator_token_file, "INQUEST_OPERATOR_TOKEN_FILE"))
        return _sendable(token, "INQUEST_OPERATOR_TOKEN_FILE")
    return None if settings.operator_token is None else _sendable(settings.operator_token, "INQUEST_OPERATOR_TOKEN")


def own_secrets(settings: Settings) -> tuple[str, ...]:
    """List the secret values among the settings of this process, for whoever masks them in foreign text.

    Raises ConfigurationError as `operator_token` does.
    """
    given = (operator_token(settings), settings.intake_token, settings.model_api_key, settings.sentry_dsn)
    values = [one.get_secret_value() for one in given if one is not None]
    if settings.database_url is not None:
        values.append(_password(settings.database_url.get_secret_value()))
    return tuple(value for value in values if value)


def _password(url: str) -> str:
    """Give the password of a URL as its server gets it, "" where there is none or it cannot be read."""
    try:
        return unquote(urlsplit(url).password or "")
    except ValueError:
        return ""


def _sendable(token: SecretStr, field: str) -> SecretStr:
    value = token.get_secret_value()
    if not value or not all("!" <= char <= "~" for char in value):
        msg = f"{field}: a bearer token is printable ASCII without spaces"
        raise ConfigurationError(msg)
    return token


def child_environment(extra: Mapping[str, str], *, own: bool = True) -> dict[str, str]:
    """Give this process's environment for a child of our own, with `extra`; without `own`, less all INQUEST_*."""
    kept = {name: value for name, value in os.environ.items() if own or not name.startswith("INQUEST_")}
    return {**kept, **extra}
