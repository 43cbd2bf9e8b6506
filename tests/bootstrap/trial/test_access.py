"""How a source is reached: what the options say is read once, and what is wrong is told by its option, never its value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inquest.bootstrap.trial.access import Access, reach
from inquest.errors import ConfigurationError
from inquest.wire.endpoint import Anonymous, Basic, Bearer

URL = "http://127.0.0.1:9090"
SECRET = "hunter2hunter2"


def test_nothing_but_a_url_is_needed() -> None:
    reached = reach(Access(kind="prometheus", url=f"{URL}/prefix/"))

    assert isinstance(reached.credential, Anonymous)
    assert reached.endpoint.base_url == f"{URL}/prefix"


def test_a_token_or_a_user_comes_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    monkeypatch.chdir(tmp_path)
    Path("password").write_text(f"{SECRET}\n")
    Path("headers").write_text("X-Scope-OrgID: shop\n")

    bearer = reach(Access(kind="loki", url=URL, token_env="TOKEN", headers_file="headers"))
    basic = reach(Access(kind="prometheus", url=URL, username="ana", password_file="password"))

    assert isinstance(bearer.credential, Bearer)
    assert bearer.credential.token.get_secret_value() == SECRET
    assert bearer.endpoint.secret_headers["X-Scope-OrgID"].get_secret_value() == "shop"
    assert isinstance(basic.credential, Basic)
    assert (basic.credential.username, basic.credential.password.get_secret_value()) == ("ana", SECRET)
    assert SECRET not in f"{bearer!r} {basic!r}"
    assert basic.section.credential.basic_password_file == str(tmp_path / "password")


@pytest.mark.parametrize(
    ("access", "told"),
    [
        ({"url": "prometheus:9090"}, "--prometheus: write http(s)://host[:port][/path]"),
        ({"url": f"http://ana:{SECRET}@h"}, "--prometheus: write http(s)://host[:port][/path]"),
        ({"url": "http://h:99999"}, "--prometheus: write http(s)://host[:port][/path]"),
        ({"kind": "loki", "url": "ftp://h"}, "--loki: write http(s)://host[:port][/path]"),
        ({"token_env": "UNSET"}, "--token-env: the variable UNSET is not set or empty"),
        ({"kind": "loki", "token_env": "UNSET"}, "--loki-token-env: the variable UNSET is not set or empty"),
        ({"token_file": "/no/such"}, "--token-file: /no/such cannot be read (No such file or directory)"),
        ({"token_env": "SET", "token_file": "f"}, "--token: give --token-env or --token-file, not both"),
        ({"username": "ana"}, "--username: goes together with --password-env or --password-file"),
        ({"password_env": "SET"}, "--username: goes together with --password-env or --password-file"),
        (
            {"username": "ana", "password_env": "SET", "token_env": "SET"},
            "--username: give a token or a user, not both",
        ),
        ({"headers_file": "/no/such"}, "--headers-file: /no/such cannot be read (No such file or directory)"),
    ],
)
def test_what_is_wrong_is_told_by_its_option(
    access: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET", SECRET)
    with pytest.raises(ConfigurationError) as refused:
        reach(Access(**{"kind": "prometheus", "url": URL, **access}))

    assert str(refused.value).startswith(told)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"Host: {SECRET}", "--headers-file: the header 'Host' is the transport's own"),
        (f"X: {SECRET}ü", "--headers-file: the header 'X' cannot be sent"),
        (SECRET, "--headers-file: "),
    ],
)
def test_a_header_that_cannot_be_sent_is_told_by_its_name(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "h").write_text(line)
    with pytest.raises(ConfigurationError) as refused:
        reach(Access(kind="prometheus", url=URL, headers_file=str(tmp_path / "h")))

    assert str(refused.value).startswith(told)
    assert SECRET not in str(refused.value)
