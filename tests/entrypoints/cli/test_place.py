"""Where a command works, and what it must never show of that."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from pydantic import SecretStr

from inquest.entrypoints.cli.place import load_workspaces
from inquest.settings import Settings
from tests.bootstrap.files import OPEN_INTAKE, file_of


@pytest.mark.parametrize(
    "settings",
    [
        {"operator_token": SecretStr("operators-own-token")},
        {"intake_token": SecretStr("operators-own-token")},
        {"sentry_dsn": SecretStr("operators-own-token")},
        {"database_url": SecretStr("postgresql://app:operators-own-token@db/x")},
        {"database_url": SecretStr("postgresql://app:operators%2Down%2Dtoken@db/x")},
    ],
)
def test_the_secrets_of_the_process_are_masked_in_foreign_text(tmp_path: Path, settings: dict[str, SecretStr]) -> None:
    (tmp_path / "key").write_text("ab" * 32)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "inquest.yaml").write_text(file_of(intakes={"am": OPEN_INTAKE}))
    told = Settings(home=tmp_path, key_file=tmp_path / "key").model_copy(update=settings)

    redactor = load_workspaces(told, tmp_path / "inquest.yaml")["default"].redactor

    encoded = base64.b64encode(b"operators-own-token").decode()
    for text in ("a line with operators-own-token in it", f"and with {encoded}"):
        assert redactor.text(text) != text
