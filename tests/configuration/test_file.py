"""The configuration file: what is taken, and that every error names file, line, field and way out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from inquest.configuration.file import parse, read
from inquest.errors import ConfigurationError
from inquest.resources import config_dir

SMALL = """\
version: 1
workspaces:
  default:
    intakes:
      am:
        type: alertmanager
        auth: {bearer_env: TOKEN}
        quiet_for: 90s
"""


def test_the_shipped_example_is_valid() -> None:
    configuration = read(config_dir() / "inquest.example.yaml")

    assert set(configuration.workspaces["default"].integrations) == {"prometheus", "loki", "gitlab"}


def test_a_small_file_takes_the_defaults_of_the_rest() -> None:
    workspace = parse(SMALL, "small.yaml").workspaces["default"]

    assert workspace.intakes["am"].quiet_for == timedelta(seconds=90)
    assert workspace.intakes["am"].cooldown == timedelta(minutes=30)
    assert workspace.budgets.max_running == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("quiet_for: 90s", "quite_for: 90s"), "f.yaml:8: workspaces.default.intakes.am.quite_for: unknown key; did you mean quiet_for?"),
        (("quiet_for: 90s", "quiet_for: soon"), "f.yaml:8: workspaces.default.intakes.am.quiet_for: 'soon' is no duration: write a whole number and ms, s, m, h or d, as in 15m"),
        (("bearer_env: TOKEN", "bearer: hunter2"), "f.yaml:7: workspaces.default.intakes.am.auth.bearer: a secret is never written here: use bearer_env or bearer_file"),
        (("auth: {bearer_env: TOKEN}", "group_by: [a]"), "f.yaml:5: workspaces.default.intakes.am: an intake needs auth (bearer_env, bearer_file or basic_*), or insecure_without_auth: true on loopback"),
        (("version: 1", "version: 2"), "f.yaml:1: version: Input should be 1"),
        (("quiet_for: 90s", "type: alertmanager"), "f.yaml:8: the key 'type' is here twice"),
        (("quiet_for: 90s", "quiet_for: *x"), "f.yaml:8: aliases are not taken here"),
        (("version: 1", "version: ["), "f.yaml:3: expected ',' or ']', but got ':'"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_field_and_way_out(change: tuple[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(SMALL.replace(*change), "f.yaml")

    assert told in str(refused.value).splitlines()


def test_an_inline_secret_is_not_repeated_in_the_error() -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(SMALL.replace("bearer_env: TOKEN", "bearer: hunter2"), "f.yaml")

    assert "hunter2" not in str(refused.value)


def test_two_integrations_never_share_a_credential_profile() -> None:
    text = (
        SMALL
        + """\
    integrations:
      one: {type: prometheus, url: "http://a", credential: {profile: p, bearer_env: A}}
      two: {type: prometheus, url: "http://b", credential: {profile: p, bearer_env: B}}
"""
    )
    with pytest.raises(ConfigurationError, match="share the credential profile 'p'"):
        parse(text, "f.yaml")


def test_an_unreadable_file_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.yaml: cannot be read"):
        read(tmp_path / "none.yaml")
