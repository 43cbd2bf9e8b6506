"""The secrets of one workspace, read where its section says; no value is ever shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from inquest.bootstrap.credentials import credential
from inquest.bootstrap.paths import with_files_at
from inquest.bootstrap.problems import Problems
from inquest.configuration.sections import ModelSection, WorkspaceSection
from inquest.models.litellm_model import ModelAccess
from inquest.models.pricing import Price
from inquest.settings import secret, secret_headers
from inquest.wire.endpoint import TENANT_HEADERS, Credential, secret_values


@dataclass(frozen=True)
class Secrets:
    """What the secrets of one workspace came to, by the name of what they are for."""

    intakes: Mapping[str, Credential]
    integrations: Mapping[str, Credential]
    headers: Mapping[str, Mapping[str, SecretStr]]
    destinations: Mapping[str, SecretStr]
    model: ModelAccess | None

    def values(self) -> list[str]:
        """List every text that must never be shown."""
        credentials = (*self.intakes.values(), *self.integrations.values())
        found = [value for one in credentials for value in secret_values(one)]
        found += [
            value.get_secret_value()
            for headers in self.headers.values()
            for name, value in headers.items()
            if name.lower() not in TENANT_HEADERS
        ]
        found += [token.get_secret_value() for token in self.destinations.values()]
        if self.model is not None and self.model.api_key is not None:
            found.append(self.model.api_key.get_secret_value())
        return found


def secrets_of(section: WorkspaceSection, workspace: str, base: Path, problems: Problems) -> Secrets:
    """Read the secrets that `section` names; `base` is where relative files are looked for. Problems are noted."""
    place = f"workspaces.{workspace}"
    intakes: dict[str, Credential] = {}
    integrations: dict[str, Credential] = {}
    headers: dict[str, Mapping[str, SecretStr]] = {}
    destinations: dict[str, SecretStr] = {}
    model = None
    for name, intake in section.intakes.items():
        with problems.of(f"{place}.intakes.{name}"):
            intakes[name] = credential(with_files_at(base, intake.auth), f"{place}.intakes.{name}.auth")
    for name, integration in section.integrations.items():
        with problems.of(f"{place}.integrations.{name}"):
            field = f"{place}.integrations.{name}.credential"
            integrations[name] = credential(with_files_at(base, integration.credential), field)
            filed = with_files_at(base, integration)
            headers[name] = secret_headers(filed.headers_file, f"{place}.integrations.{name}.headers_file")
    for name, destination in section.destinations.items():
        with problems.of(f"{place}.destinations.{name}"):
            outlet = with_files_at(base, destination)
            token = secret(env=outlet.token_env, file=outlet.token_file, field=f"{place}.destinations.{name}.token")
            if token is not None:
                destinations[name] = token
    with problems.of(f"{place}.model"):
        model = _model(with_files_at(base, section.model), f"{place}.model.api_key")
    return Secrets(intakes, integrations, headers, destinations, model)


def _model(section: ModelSection, field: str) -> ModelAccess | None:
    if not section.names:
        return None
    return ModelAccess(
        names=section.names,
        base_url=section.base_url,
        api_key=secret(env=section.api_key_env, file=section.api_key_file, field=field),
        context_window_tokens=section.context_window_tokens,
        price=Price(input_usd=section.price.input_usd, output_usd=section.price.output_usd) if section.price else None,
    )
