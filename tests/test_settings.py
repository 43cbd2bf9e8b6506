"""What the environment says, and what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from inquest.errors import ConfigurationError
from inquest.settings import Settings, child_environment, operator_token, secret, secret_headers

TOKEN = "operator-CANARY"


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(f"INQUEST_{name}", value)
    return Settings()


def test_a_variable_that_is_empty_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = {name.upper(): "" for name in Settings.model_fields}

    assert settings(monkeypatch, **empty) == Settings.model_construct(**Settings().model_dump())


def test_a_home_folder_may_be_written_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/users/somebody")

    found = settings(monkeypatch, HOME="~/inquest", KEY_FILE="~/k", CONFIG="~/c.yaml", OPERATOR_TOKEN_FILE="~/t")

    assert [found.home, found.key_file, found.config, found.operator_token_file] == [
        Path(f"/users/somebody/{name}") for name in ("inquest", "k", "c.yaml", "t")
    ]


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", nowhere)

    with pytest.raises(ConfigurationError, match=r"^INQUEST_HOME: this user has no home folder"):
        Settings()
    assert settings(monkeypatch, HOME="/srv/inquest").home == Path("/srv/inquest")


@pytest.mark.parametrize("url", ["localhost:8417", "http://user:pw@h", "http://h/?x=1", "ftp://h"])
def test_a_service_is_named_by_a_plain_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        settings(monkeypatch, URL=url)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("MODEL", "a,,b", "write NAME, or NAME,NAME in the order to ask"),
        ("MODEL", "a b", "write NAME, or NAME,NAME in the order to ask"),
        ("MODEL_PRICE", "3", "write INPUT/OUTPUT, as in 3/15"),
        ("MODEL_PRICE", "-1/2", "write INPUT/OUTPUT, as in 3/15"),
        ("MODEL_PRICE", "1e3/2", "write INPUT/OUTPUT, as in 3/15"),
        ("MODEL_BASE_URL", "models:8080", "write http(s)://host[:port][/path]"),
    ],
)
def test_what_is_said_of_a_model_wrongly_is_told_how_to_write_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(monkeypatch, **{name: value})

    assert told in str(refused.value)


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(
        monkeypatch,
        OPERATOR_TOKEN=TOKEN,
        INTAKE_TOKEN=TOKEN,
        SENTRY_DSN=f"https://{TOKEN}@h/1",
        DATABASE_URL=f"postgresql://u:{TOKEN}@h/d",
    )

    assert TOKEN not in repr(found) + str(found)


# ---- the operator's token


def test_the_operators_token_comes_from_a_variable_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert operator_token(Settings()) is None
    (tmp_path / "token").write_text(f"{TOKEN}\n")

    found = operator_token(settings(monkeypatch, OPERATOR_TOKEN_FILE=str(tmp_path / "token")))

    assert found is not None
    assert found.get_secret_value() == TOKEN


@pytest.mark.parametrize("token", [" ", "two words", "tökén", "a\tb"])
def test_a_token_that_no_request_can_carry_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_OPERATOR_TOKEN: a bearer token is printable") as refused:
        operator_token(settings(monkeypatch, OPERATOR_TOKEN=token))

    assert token.strip() == "" or token not in str(refused.value)


def test_a_token_in_two_places_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="give one"):
        operator_token(settings(monkeypatch, OPERATOR_TOKEN=TOKEN, OPERATOR_TOKEN_FILE=str(tmp_path)))


def test_a_token_file_that_cannot_be_read_is_told_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_OPERATOR_TOKEN_FILE: .* cannot be read"):
        operator_token(settings(monkeypatch, OPERATOR_TOKEN_FILE=str(tmp_path)))


def test_a_secret_file_whose_path_is_none_is_told_by_its_field() -> None:
    with pytest.raises(ConfigurationError, match=r"^intake\.bearer_file: .* cannot be read"):
        secret(env=None, file="a\0b", field="intake.bearer")


def test_headers_come_from_a_file_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("# the door\nX-Scope-OrgID: shop\n\nCF-Access-Client-Secret:  a:b \n")

    found = secret_headers(str(tmp_path / "h"), "headers_file")

    assert {name: value.get_secret_value() for name, value in found.items()} == {
        "X-Scope-OrgID": "shop", "CF-Access-Client-Secret": "a:b",
    }  # fmt: skip
    assert "a:b" not in repr(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("X: 1\nhunter2", "h:2: write a header as Name: value"),
        ("X:\nY: 2", "h:1: write a header as Name: value"),
        (": hunter2", "h:1: write a header as Name: value"),
        ("X: 1\nx: hunter2", "h:2: the header x is here twice"),
    ],
)
def test_a_line_that_is_no_header_is_told_by_its_number_without_its_text(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "h").write_text(text)

    with pytest.raises(ConfigurationError, match=r"^headers_file: ") as refused:
        secret_headers(str(tmp_path / "h"), "headers_file")

    assert str(refused.value).endswith(told)
    assert "hunter2" not in str(refused.value)


# ---- children


def test_a_child_gets_this_environment_and_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INQUEST_PORT", "1")
    monkeypatch.setenv("OTHER", "kept")

    assert child_environment({"INQUEST_HOST": "h"}).items() >= {"INQUEST_PORT": "1", "INQUEST_HOST": "h"}.items()
    without = child_environment({"INQUEST_HOST": "h"}, own=False)
    assert {name for name in without if name.startswith("INQUEST_")} == {"INQUEST_HOST"}
    assert without["OTHER"] == "kept"
