"""A Scenario -> a scenario folder that `read_folder` reads back."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from inquest.domain.value import from_epoch_ms
from inquest.scenarios.pack import openmetrics
from inquest.scenarios.pack.format import (
    ALERT_FILE,
    CHANGES_FILE,
    LOGS_FILE,
    METRICS_FILE,
    RULES_FILE,
    SCENARIO_FILE,
    Scenario,
)
from inquest.scenarios.pack.rules import RuleGroup

_NS_PER_MS = 1_000_000


def write_folder(scenario: Scenario, folder: Path) -> None:
    """Write `scenario` into `folder`, which is made when missing; files of the same names are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    header = scenario.header.model_dump(mode="json")
    _write(folder / SCENARIO_FILE, yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=120))
    (folder / ALERT_FILE).write_bytes(scenario.alert)
    _write(folder / RULES_FILE, yaml.safe_dump({"groups": [_group(one) for one in scenario.groups]}, sort_keys=False))
    _write(folder / METRICS_FILE, "".join(openmetrics.write(scenario.series, scenario.metadata)))
    _write(folder / LOGS_FILE, "".join(_log_lines(scenario)))
    changes = scenario.changes.model_dump(mode="json")
    _write(folder / CHANGES_FILE, json.dumps(changes, indent=2, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _group(group: RuleGroup) -> dict[str, object]:
    rules = [
        {
            "alert": rule.alert,
            "expr": rule.expr,
            "for": f"{rule.for_ms}ms",
            "labels": dict(rule.labels),
            "annotations": dict(rule.annotations),
        }
        for rule in group.rules
    ]
    return {"name": group.name, "interval": f"{group.interval_ms}ms", "rules": rules}


def _log_lines(scenario: Scenario) -> list[str]:
    """Give the lines of all streams, oldest first."""
    entries = sorted(
        (time, stream.labels, number) for stream in scenario.streams for number, time in enumerate(stream.times)
    )
    by_labels = {stream.labels: stream for stream in scenario.streams}
    return [
        json.dumps(
            {"time": _rfc3339_ns(time), "labels": dict(labels), "line": by_labels[labels].lines[number]},
            ensure_ascii=False,
        )
        + "\n"
        for time, labels, number in entries
    ]


def _rfc3339_ns(time_ns: int) -> str:
    moment = from_epoch_ms(time_ns // _NS_PER_MS)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ns % 1_000_000_000:09d}Z"
