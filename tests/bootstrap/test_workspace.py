"""What only building a configuration shows: secrets, files, and values that a vendor does not take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from inquest.bootstrap.processes import claim_limits
from inquest.bootstrap.sources import CONNECTORS
from inquest.configuration.sections import IntakeSection, IntegrationSection
from inquest.domain.intake import BasicAuth, BearerAuth, HeaderAuth, NoAuth
from inquest.errors import ConfigurationError
from inquest.sources import SOURCES
from tests.bootstrap.files import OPEN_INTAKE, build, file_of, prometheus

TOKEN = "sesame-CANARY-123"


def refused(text: str, base: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        build(text, base)
    return str(error.value).splitlines()


def of_integration(**section: Any) -> str:  # noqa: ANN401  # any of its keys
    return file_of(integrations={"p": prometheus(**section)})


async def test_a_workspace_has_what_its_section_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AM_TOKEN", TOKEN)
    text = file_of(
        intakes={"am": {"type": "alertmanager", "auth": {"bearer_env": "AM_TOKEN"}, "quiet_for": "1m"}},
        integrations={"metrics": prometheus()},
        services={"checkout": {"match": {"service": "checkout"}, "loki": {"app": "checkout"}}},
        destinations={"reports": {"type": "folder", "path": "out"}},
        budgets={"max_running": 2, "max_usd": 0.5, "wall_clock": "2m"},
    )

    workspace = build(text, tmp_path)["default"]

    (intake,) = workspace.intakes
    assert isinstance(intake.auth, BearerAuth)
    assert (intake.name, intake.destinations, intake.quiet_for.total_seconds()) == ("am", ("reports",), 60)
    assert [connector.name for connector in workspace.connectors] == ["metrics"]
    assert workspace.catalogue[0].matchers == {"loki": {"app": "checkout"}}
    assert (workspace.max_running, workspace.limits.max_usd_micros, workspace.limits.wall_clock_s) == (2, 500_000, 120)
    assert TOKEN not in workspace.redactor.text(f"it said {TOKEN} here")
    await workspace.aclose()


def test_the_days_dollars_are_counted_where_a_model_costs_some(tmp_path: Path) -> None:
    free = build(file_of(budgets={"max_usd_per_day": 0}), tmp_path)["default"]
    paid = build(file_of(model={"names": ["openai/x"]}, budgets={"max_usd_per_day": 0.5}), tmp_path)["default"]

    assert (free.ceilings.workspace_usd_micros, paid.ceilings.workspace_usd_micros) == (None, 500_000)
    limits = claim_limits({"free": free, "paid": paid})
    assert (limits.usd_micros_a_day, limits.only) == ({"paid": 500_000}, ("free", "paid"))


def test_the_days_dollars_of_all_workspaces_are_counted_beside_each_ones(tmp_path: Path) -> None:
    text = file_of(model={"names": ["openai/x"]}).replace('"version": 1', '"version": 1, "max_usd_per_day": 2.5')
    paid, free = build(text, tmp_path)["default"], build(file_of(), tmp_path)["default"]

    assert (paid.ceilings.installation_usd_micros, free.ceilings.installation_usd_micros) == (2_500_000, None)
    limits = claim_limits({"free": free, "paid": paid})
    assert (limits.installation_usd_micros_a_day, claim_limits({"free": free}).installation_usd_micros_a_day) == (
        2_500_000,
        None,
    )


def test_every_type_that_a_file_may_name_can_be_built() -> None:
    assert set(get_args(IntegrationSection.model_fields["type"].annotation)) == set(CONNECTORS)
    assert set(get_args(IntakeSection.model_fields["type"].annotation)) == set(SOURCES)


# ---- secrets


def test_each_missing_secret_is_told_with_its_field_and_variable_all_at_once(tmp_path: Path) -> None:
    text = file_of(
        intakes={"am": {"type": "alertmanager", "auth": {"bearer_env": "NOT_SET_1"}}},
        integrations={"p": prometheus(credential={"profile": "p", "bearer_file": "none.txt"})},
        model={"names": ["openai/x"], "api_key_env": "NOT_SET_2"},
    )

    assert refused(text, tmp_path) == [
        "workspaces.default.intakes.am.auth.bearer_env: the variable NOT_SET_1 is not set or empty",
        f"workspaces.default.integrations.p.credential.bearer_file: {tmp_path}/none.txt cannot be read (No such file or directory); name a file that holds the secret and nothing else",
        "workspaces.default.model.api_key_env: the variable NOT_SET_2 is not set or empty",
    ]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "is empty"),
        (b"x" * 65_537, "cannot be read (larger than 65536 bytes)"),
        (b"\xff\xfe", "cannot be read as text"),
    ],
)
def test_a_secret_file_is_text_within_bounds(tmp_path: Path, raw: bytes, told: str) -> None:
    (tmp_path / "s").write_bytes(raw)
    (line,) = refused(of_integration(credential={"profile": "p", "bearer_file": "s"}), tmp_path)

    assert line.startswith("workspaces.default.integrations.p.credential.bearer_file: ")
    assert told in line


async def test_files_are_looked_for_beside_the_configuration_wherever_the_process_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "file" / "token").write_text(f"{TOKEN}\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = file_of(
        intakes={"am": {"type": "alertmanager", "auth": {"bearer_file": "token"}}},
        integrations={"p": prometheus(credential={"profile": "p", "bearer_file": "./token"})},
        model={"names": ["x"], "api_key_file": "token"},
    )

    workspace = build(text, tmp_path / "file")["default"]

    auth = workspace.intakes[0].auth
    assert isinstance(auth, BearerAuth)
    assert auth.tokens[0].get_secret_value() == TOKEN
    assert workspace.model is not None
    assert workspace.model.api_key is not None
    assert workspace.model.api_key.get_secret_value() == TOKEN
    await workspace.aclose()


@pytest.mark.parametrize("newline", ["\n", "\r\n", ""])
async def test_the_line_end_of_a_secret_file_is_no_part_of_the_secret(tmp_path: Path, newline: str) -> None:
    (tmp_path / "pw").write_bytes(f"{TOKEN}{newline}".encode())
    auth = {"basic_username": "am", "basic_password_file": "pw"}

    workspace = build(file_of(intakes={"am": {"type": "alertmanager", "auth": auth}}), tmp_path)["default"]

    given = workspace.intakes[0].auth
    assert isinstance(given, BasicAuth)
    assert given.passwords[0].get_secret_value() == TOKEN


@pytest.mark.parametrize("value", ["\n", "ö"], ids=["a line end", "not ASCII"])
def test_a_secret_that_no_header_can_carry_is_refused_without_being_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SECRET", f"{TOKEN}{value}{TOKEN}")

    (line,) = refused(of_integration(credential={"profile": "p", "bearer_env": "SECRET"}), tmp_path)

    assert line.startswith("workspaces.default.integrations.p: the bearer credential cannot be sent")
    assert TOKEN not in line


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_secret_opens_no_intake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SECRET", value)
    text = file_of(intakes={"am": {"type": "alertmanager", "auth": {"bearer_env": "SECRET"}}})

    (line,) = refused(text, tmp_path)

    assert line.startswith("workspaces.default.intakes.am")


def test_a_header_token_needs_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", TOKEN)
    headerless = {"profile": "p", "token_env": "SECRET"}
    text = file_of(intakes={"dd": {"type": "datadog", "auth": {"token_env": "SECRET"}}})

    assert refused(of_integration(credential=headerless), tmp_path) == [
        "workspaces.default.integrations.p.credential.header: name the header that carries the token, such as PRIVATE-TOKEN"
    ]
    assert refused(text, tmp_path) == [
        "workspaces.default.intakes.dd.auth.header: name the header that carries the token, such as PRIVATE-TOKEN"
    ]


async def test_a_header_token_opens_an_intake_and_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", TOKEN)
    auth = {"header": "X-Inquest-Token", "token_env": "SECRET"}

    workspace = build(file_of(intakes={"dd": {"type": "datadog", "auth": auth}}), tmp_path)["default"]

    given = workspace.intakes[0].auth
    assert isinstance(given, HeaderAuth)
    assert (given.header, given.tokens[0].get_secret_value()) == ("X-Inquest-Token", TOKEN)
    assert TOKEN not in workspace.redactor.text(f"it said {TOKEN} here")
    await workspace.aclose()


@pytest.mark.parametrize(("header", "value"), [("X-Token", " "), ("X Token", "t"), ("X-Token:", "t"), ("", "t")])
def test_a_header_that_cannot_be_sent_or_is_empty_opens_no_intake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, value: str
) -> None:
    monkeypatch.setenv("SECRET", value)
    text = file_of(intakes={"dd": {"type": "datadog", "auth": {"header": header, "token_env": "SECRET"}}})

    (line,) = refused(text, tmp_path)

    assert line.startswith("workspaces.default.intakes.dd")


# ---- what a vendor does not take


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            {"mandatory_matchers": {"__name__": "x"}},
            "integrations.p.mandatory_matchers: mandatory_matchers: '__name__'",
        ),
        ({"url": "https://h", "ca_file": "no.pem"}, "integrations.p: ca_file {base}/no.pem: no certificates"),
    ],
)
def test_what_a_source_does_not_take_names_its_field(tmp_path: Path, section: dict[str, Any], told: str) -> None:
    (line,) = refused(of_integration(**section), tmp_path)

    assert line.startswith("workspaces.default." + told.format(base=tmp_path))


def test_gitlab_reads_named_projects_only(tmp_path: Path) -> None:
    (line,) = refused(file_of(integrations={"g": {"type": "gitlab", "url": "http://g"}}), tmp_path)

    assert line == "workspaces.default.integrations.g.projects: name the projects that may be read"


async def test_two_integrations_of_one_type_offer_tools_of_different_names(tmp_path: Path) -> None:
    text = file_of(integrations={"main": prometheus(), "eu-1": prometheus("http://127.0.0.1:9091")})

    workspace = build(text, tmp_path)["default"]

    names = [tool.spec.name for connector in workspace.connectors for tool in connector.tools]
    assert len(names) == len(set(names))
    assert {"prometheus_query_range", "eu_1_query_range"} <= set(names)
    assert [connector.name for connector in workspace.connectors] == ["main", "eu-1"]
    await workspace.aclose()


def test_a_tool_that_two_would_offer_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inquest.bootstrap.workspace.tool_prefixes", lambda types: dict.fromkeys(types, "same"))
    text = file_of(integrations={"main": prometheus(), "other": prometheus("http://127.0.0.1:9091")})

    (line,) = refused(text, tmp_path)

    assert line.startswith("workspaces.default.integrations: integrations: two of them offer the tool same_query_range")


# ---- where reports go


async def test_a_route_sends_the_posts_of_its_intakes_to_its_destinations(tmp_path: Path) -> None:
    folder = {"type": "folder", "path": "out"}
    text = file_of(
        intakes={"one": OPEN_INTAKE, "two": OPEN_INTAKE, "three": OPEN_INTAKE},
        destinations={"a": folder, "b": folder},
        routes=[{"to": ["a"], "intakes": ["one"]}, {"to": ["b"], "intakes": ["one", "two"]}],
    )

    intakes = build(text, tmp_path)["default"].intakes

    assert {one.name: one.destinations for one in intakes} == {"one": ("a",), "two": ("b",), "three": ()}


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ({"to": ["nowhere"]}, "a route names the destination 'nowhere', which is not among ['a']"),
        ({"to": ["a"], "intakes": ["none"]}, "a route names the intake 'none', which is not among ['one']"),
        ({"to": ["a"], "severities": ["critical"]}, "unknown key"),
    ],
)
def test_a_route_that_would_not_do_what_it_says_is_refused(tmp_path: Path, route: dict[str, Any], told: str) -> None:
    text = file_of(intakes={"one": OPEN_INTAKE}, destinations={"a": {"type": "folder", "path": "out"}}, routes=[route])

    assert told in refused(text, tmp_path)[0]


def test_a_destination_in_the_home_of_nobody_is_refused(tmp_path: Path) -> None:
    text = file_of(destinations={"a": {"type": "folder", "path": "~no-such-user/out"}})

    assert refused(text, tmp_path) == [
        "workspaces.default.destinations.a: ~no-such-user/out: there is no such home folder"
    ]


def test_an_intake_without_auth_says_so(tmp_path: Path) -> None:
    (intake,) = build(file_of(intakes={"am": OPEN_INTAKE}), tmp_path)["default"].intakes

    assert isinstance(intake.auth, NoAuth)
