from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from inquest.errors import ConfigurationError
from inquest.scenarios import bounds
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.pack.changes import Changes
from inquest.scenarios.pack.format import Header, MetricMetadata, Scenario, Truth
from inquest.scenarios.pack.locate import parsed_yaml
from inquest.scenarios.pack.read import read_folder
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup
from inquest.scenarios.pack.write import write_folder
from tests.scenarios.builders import gauge, scenario, stream
from tests.scenarios.gitlab.test_api import PROJECT

RULE = AlertingRule(alert="A", expr="g > 1", for_ms=90_000, labels={"severity": "critical"}, annotations={"s": "x"})


def whole() -> Scenario:
    return scenario(
        series=[gauge("g", {-15: 1.0, 0: 2.0}, a='quo"te')],
        metadata={"g": MetricMetadata("gauge", "Help.", "")},
        streams=[stream([(-1.5, 'one "line"'), (-1.5, "two é")], app="a"), stream([(-9, "three")], app="b")],
        changes=Changes(projects=(PROJECT,)),
        groups=[RuleGroup(name="g", interval_ms=15_000, rules=(RULE,))],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(whole(), tmp_path)
    return tmp_path


def test_a_folder_that_was_written_is_read_back_the_same(folder: Path) -> None:
    assert read_folder(folder) == whole()
    assert open_scenario(str(folder)) == whole()


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


def _replace(name: str, text: str) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return replace


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (_edit("scenario.yaml", "version: 1", "version: 2"), "scenario.yaml:1: version: "),
        (_edit("scenario.yaml", "title: A tiny incident", "titel: x"), "scenario.yaml:3: titel: "),
        (_edit("scenario.yaml", "external.cat", "weather.rain"), "weather.rain is not family.cause"),
        (_edit("scenario.yaml", "verdict: cause_found", "verdict: healthy"), "an onset is there exactly when"),
        (_edit("scenario.yaml", "name: tiny", "name: *x"), "scenario.yaml:2: aliases are not taken"),
        (_edit("scenario.yaml", "name: tiny", "name: [tiny"), "scenario.yaml:"),
        (_replace("scenario.yaml", "[" * 100_000), "scenario.yaml:1: nested deeper than 32"),
        (_edit("metrics.om", "# EOF", "g 1"), "metrics.om:5: expected NAME"),
        (_edit("alert.json", "{", "{,"), "alert.json:1: not JSON"),
        (_edit("rules.yml", "expr: g > 1", "expr: g >"), "rules.yml:6: A: 1:4: parse error"),
        (_edit("rules.yml", "expr: g > 1", "expr: topk(1, g)"), "rules.yml:6: A: the recorded backend does not"),
        (_edit("rules.yml", "for: 90000ms", "for: long"), "rules.yml:7: A: long is not a duration"),
        (_edit("rules.yml", "interval: 15000ms", "interval: 0s"), "rules.yml:3: 0s is not a duration"),
        (_edit("rules.yml", "s: x", "s: '{{ query }}'"), "rules.yml:10: A: {{ query }} is not filled in"),
        (_edit("logs.jsonl", "2026-03-01T11:59:58.500000000Z", "noon"), "logs.jsonl:2: time: noon is not"),
        (_edit("logs.jsonl", '"app": "b"', '"app": 3'), "logs.jsonl:1: labels.app: "),
        (_edit("logs.jsonl", "two é", "\\ud800"), "logs.jsonl:3: "),
        (_edit("logs.jsonl", "11:59:58.5", "11:59:59.5"), "logs.jsonl:3: the times of a stream must not go back"),
        (_replace("logs.jsonl", "\n\nnot json\n"), "logs.jsonl:3: "),
        (_edit("changes.json", '"id": 901', '"id": "901"'), "changes.json:"),
        (_edit("changes.json", '"status": "success"', '"state": "success"'), "status must be there and be text"),
        (_edit("changes.json", '"committed_date": "', '"committed_date": "x'), "committed_date is not an RFC 3339"),
        (_edit("changes.json", '"projects"', '"project"'), "changes.json:2: project: "),
        (_edit("changes.json", "{", ""), "changes.json:"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_and_the_line(folder: Path, damage: Callable[[Path], None], error: str) -> None:
    damage(folder)
    with pytest.raises(ConfigurationError) as refused:
        read_folder(folder)
    assert error in str(refused.value)
    assert str(folder) in str(refused.value)


def test_the_line_of_a_missing_field_is_the_objects(folder: Path) -> None:
    path = folder / "changes.json"
    changes = json.loads(path.read_text())
    del changes["projects"][0]["deployments"][2]["environment"]
    path.write_text(json.dumps(changes, indent=2))

    with pytest.raises(ConfigurationError) as refused:
        read_folder(folder)
    line = int(str(refused.value).removeprefix(f"{path}:").split(":")[0])
    assert '"id": 903' in "\n".join(path.read_text().split("\n")[line - 1 : line + 2])


@pytest.mark.parametrize(
    "name", ["scenario.yaml", "metrics.om", "alert.json", "rules.yml", "logs.jsonl", "changes.json"]
)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ConfigurationError, match=rf"{name}: cannot be read \(No such file"):
        read_folder(folder)


def test_a_file_above_the_ceiling_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_SCENARIO_FILE_BYTES", 10)
    with pytest.raises(ConfigurationError, match=r"scenario.yaml: larger than 10 bytes"):
        read_folder(folder)


def test_bytes_that_are_not_utf_8_are_named(folder: Path) -> None:
    (folder / "logs.jsonl").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"logs.jsonl: byte 0 is not UTF-8"):
        read_folder(folder)


def test_the_example_of_the_reference_page_is_a_scenario() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "scenarios.md").read_text()
    block = page.partition("**scenario.yaml**")[2].partition("```yaml\n")[2].partition("```")[0]
    header = parsed_yaml(block, "scenarios.md", Header)
    assert (header.name, header.clock.ends_at - header.clock.anchor) == ("checkout_pool", timedelta(seconds=90))


def test_a_name_that_is_neither_built_in_nor_a_folder_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"neither a built-in recording .*checkout_pool"):
        open_scenario(str(tmp_path))


def test_the_truth_accepts_its_category_and_those_it_names() -> None:
    truth: Truth = whole().header.truth.but(category="change.deployment", also_accepted=("configuration.*",))
    accepted = [
        truth.accepts(one) for one in ("change.deployment", "configuration.pool", "change.other", "other.unknown")
    ]
    assert accepted == [True, True, False, False]
