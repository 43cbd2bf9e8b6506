"""The configuration file: what is taken, and that every error names file, line, field and way out."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.configuration.file import parse, read
from inquest.configuration.sections import IntegrationSection
from inquest.configuration.shape import parse_duration, written_duration
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
        (("auth: {bearer_env: TOKEN}", "group_by: [a]"), "f.yaml:5: workspaces.default.intakes.am: an intake needs auth (bearer_*, basic_*, or token_* with a header), or insecure_without_auth: true on loopback"),
        (("version: 1", "version: 2"), "f.yaml:1: version: Input should be 1"),
        (("quiet_for: 90s", "type: alertmanager"), "f.yaml:8: the key 'type' is here twice: leave one"),
        (("quiet_for: 90s", "quiet_for: *x"), "f.yaml:8: aliases are not taken here: write the value where it is used"),
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
    told = "default.integrations.one and .*default.integrations.two share the credential profile 'p'"
    with pytest.raises(ConfigurationError, match=told):
        parse(text, "f.yaml")


@pytest.mark.parametrize(("profile", "is_taken"), [("p", False), ("q", True), ("", True)])
def test_integrations_of_two_workspaces_share_no_credential_profile_either(profile: str, *, is_taken: bool) -> None:
    text = f"""\
version: 1
workspaces:
  one:
    integrations:
      metrics: {{type: prometheus, url: "http://a", credential: {{profile: p, bearer_env: A}}}}
  two:
    integrations:
      metrics: {{type: prometheus, url: "http://b", credential: {{profile: "{profile}"}}}}
"""
    if is_taken:
        assert set(parse(text, "f.yaml").workspaces) == {"one", "two"}
        return
    with pytest.raises(
        ConfigurationError, match=r"workspaces\.two\.integrations\.metrics share the credential profile"
    ):
        parse(text, "f.yaml")


def test_an_unreadable_file_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.yaml: cannot be read"):
        read(tmp_path / "none.yaml")


# ---- what is no file of ours


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "f.yaml:1: the file is a mapping with the keys version and workspaces"),
        ("- a", "f.yaml:1: the file is a mapping with the keys version and workspaces"),
        ("[1, 2]: a", "f.yaml:1: a key is a word"),
        ("? {a: b}\n: c", "f.yaml:1: a key is a word"),
        ("a: !!python/object:os.system x", "f.yaml:1: tags are not taken here: write the value without !..."),
        ("version: 1\na: !!int foo", "f.yaml:2: tags are not taken here: write the value without !..."),
        ("version: 1\na: \x01", "f.yaml:2: a control character is not taken here"),
        ("---\na: 1\n---\nb: 2", "f.yaml:3: a second document begins: a file holds one"),
        ("<<: 3", "f.yaml:1: << is not taken here: write the keys"),
        ("[" * 5_000, "f.yaml:1: nested deeper than 32"),
        ("a:\n\tb: 1", "f.yaml:2: a tab is not taken here: indent with spaces"),
        ("a: 1\na: 2", "f.yaml:2: the key 'a' is here twice: leave one"),
        ("a: &x [1]\nb: [*x, *x]", "f.yaml:2: aliases are not taken here: write the value where it is used"),
        ("a:\n" + " - b\n" * 30_000, "f.yaml:29999: more than 30,000 keys and values"),
        ("version: 1\nworkspaces: {on: {}}", 'f.yaml:2: workspaces.1: is text: put it in quotes, as in "on" or "17"'),
        ("version: 1\nworkspaces: {default: 3}", "f.yaml:2: workspaces.default: is a section: write its keys below it"),
        ("version: 1\nworkspaces: {Bad Name: {}}", "f.yaml:2: workspaces.Bad Name: a name is of lower-case letters, digits, - and _, 63 at most"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_ours_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(text, "f.yaml")

    assert told in str(refused.value).splitlines()


@pytest.mark.parametrize("value", ["2026-13-45", "9" * 5_000])
def test_a_value_that_yaml_itself_cannot_read_is_told(value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"f\.yaml: a value is no date or number, though it looks like one"):
        parse(f"version: {value}", "f.yaml")


@given(st.text(max_size=200))
def test_any_text_is_a_configuration_or_an_error_of_ours(text: str) -> None:
    try:
        parse(text, "f.yaml")
    except ConfigurationError as error:
        assert str(error).startswith("f.yaml")  # noqa: PT017  # either is right


def test_a_file_over_the_cap_or_of_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(b"#" * 1_048_577)
    (tmp_path / "latin.yaml").write_bytes(b"version: 1 # \xe4")

    with pytest.raises(ConfigurationError, match=r"large\.yaml: cannot be read \(larger than 1048576 bytes\)"):
        read(tmp_path / "large.yaml")
    with pytest.raises(ConfigurationError, match=r"latin\.yaml:1: byte 13 is not UTF-8"):
        read(tmp_path / "latin.yaml")


# ---- values with bounds


@pytest.mark.parametrize(
    ("budgets", "told"),
    [
        ("{max_usd: .inf}", "budgets.max_usd: Input should be a finite number"),
        ("{max_usd_per_day: .nan}", "budgets.max_usd_per_day: Input should be a finite number"),
        ("{max_usd: 1000001}", "budgets.max_usd: Input should be less than or equal to 1000000"),
        ("{wall_clock: 500ms}", "budgets.wall_clock: Input should be greater than or equal to 10 seconds"),
        ("{wall_clock: 999999999999d}", "budgets.wall_clock: '999999999999d' is longer than anything lives"),
        ("{max_questions: 4}", "budgets.max_questions: Input should be less than or equal to 3"),
        ("{max_new_per_hour: 10001}", "budgets.max_new_per_hour: Input should be less than or equal to 10000"),
        ("{max_running: 0}", "budgets.max_running: Input should be greater than or equal to 1"),
    ],
)
def test_a_ceiling_has_a_ceiling(budgets: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(f"version: 1\nworkspaces:\n  default:\n    budgets: {budgets}\n", "f.yaml")

    assert f"f.yaml:4: workspaces.default.{told}" in str(refused.value).splitlines()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("quiet_for: 0s", "Input should be greater than 0 seconds"),
        ("stale_after: 366d", "Input should be less than or equal to 365 days"),
        ("group_by: name", "is a list: write [a, b], or a line beginning with - for each"),
    ],
)
def test_an_intakes_times_and_lists_are_checked(line: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(SMALL.replace("quiet_for: 90s", line), "f.yaml")

    name = line.partition(":")[0]
    assert f"f.yaml:8: workspaces.default.intakes.am.{name}: {told}" in str(refused.value).splitlines()


@pytest.mark.parametrize(
    "url", ["http://u:hunter2@h", "h:9090", "http://h/?q=hunter2", "http://[::1", "http://h:99999", ""]
)
def test_a_source_is_named_by_a_plain_url(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(f"{SMALL}    integrations:\n      p: {{type: prometheus, url: '{url}'}}\n", "f.yaml")

    assert str(refused.value) == (
        "f.yaml:10: workspaces.default.integrations.p.url: "
        "write http(s)://host[:port][/path], without credentials or a query"
    )


def test_every_problem_of_a_file_is_told_at_once() -> None:
    text = SMALL.replace("90s", "soon").replace("type: alertmanager", "type: carrier-pigeon")

    with pytest.raises(ConfigurationError) as refused:
        parse(text, "f.yaml")

    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["6", "8"]


def test_a_key_that_has_no_effect_on_its_type_is_refused() -> None:
    text = (
        SMALL
        + """\
    integrations:
      git: {type: gitlab, url: "http://a", mandatory_matchers: {cluster: eu}}
"""
    )
    with pytest.raises(ConfigurationError, match="mandatory_matchers has no effect on a gitlab integration"):
        parse(text, "f.yaml")


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert read(tmp_path / "f.yaml") == parse(SMALL, "f.yaml")


def test_another_encoding_is_told_with_its_line_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"version: 1\n# caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"f\.yaml:2: byte 16 is not UTF-8; save the file as UTF-8$"):
        read(tmp_path / "f.yaml")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(ConfigurationError, match=r"cannot be read \(.+\); give --config or INQUEST_CONFIG"):
            read(path)


def test_of_very_many_problems_the_first_are_told_and_the_others_counted() -> None:
    many = "\n".join(f"unknown{number}: 1" for number in range(60))
    with pytest.raises(ConfigurationError) as refused:
        parse(SMALL + many, "f.yaml")
    lines = str(refused.value).splitlines()
    assert (len(lines), lines[-1]) == (51, "f.yaml: 10 more problems")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("''", "a folder destination needs path"),
        ("' '", "path: is empty: write the folder for reports"),
        ('"a\\0b"', "path: holds a control character: write the folder for reports"),
    ],
)
def test_a_folder_that_cannot_be_one_is_told(path: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(f"{SMALL}    destinations:\n      f: {{type: folder, path: {path}}}\n", "f.yaml")
    assert str(refused.value).startswith("f.yaml:10: workspaces.default.destinations.f")
    assert told in str(refused.value)


@pytest.mark.parametrize("text", ["5s", "1500ms", "0s", "31536000s"])
def test_a_duration_is_written_as_it_is_read(text: str) -> None:
    assert written_duration(parse_duration(text)) == text


def test_a_section_that_was_written_is_read_again() -> None:
    section = IntegrationSection(type="prometheus", url="http://127.0.0.1:9090", scrape_interval=timedelta(seconds=5))

    assert IntegrationSection.model_validate(section.model_dump(mode="json", exclude_defaults=True)) == section
