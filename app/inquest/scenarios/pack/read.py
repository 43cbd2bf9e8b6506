"""A scenario folder -> a Scenario. Every error names the file and the line."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

from pydantic import Field, ValidationError

from inquest.domain.value import Labels as LabelMap
from inquest.domain.value import Value
from inquest.errors import ConfigurationError
from inquest.scenarios import bounds
from inquest.scenarios.loki.lines import Stream
from inquest.scenarios.moments import rfc3339_ns, unit_duration_ms
from inquest.scenarios.pack import openmetrics
from inquest.scenarios.pack.changes import (
    REQUIRED_OF_COMMIT,
    REQUIRED_OF_DEPLOYMENT,
    REQUIRED_OF_MERGE_REQUEST,
    REQUIRED_OF_PROJECT,
    Changes,
    Object,
)
from inquest.scenarios.pack.format import (
    ALERT_FILE,
    CHANGES_FILE,
    LOGS_FILE,
    METRICS_FILE,
    RULES_FILE,
    SCENARIO_FILE,
    Header,
    Scenario,
)
from inquest.scenarios.pack.locate import line_of, parsed_json, parsed_yaml, text_of
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup, unknown_template
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.refusals import ExpressionRefused
from inquest.scenarios.promql.samples import Labels, labels_of


def read_folder(folder: Path) -> Scenario:
    """Read the scenario in `folder`. Raises ConfigurationError."""
    header = parsed_yaml(text_of(folder, SCENARIO_FILE), str(folder / SCENARIO_FILE), Header)
    interval_ms = header.scrape_interval_seconds * 1000
    metrics = text_of(folder, METRICS_FILE).removesuffix("\n").split("\n")
    series, metadata = openmetrics.read(metrics, str(folder / METRICS_FILE), interval_ms=interval_ms)
    return Scenario(
        header=header,
        alert=_alert(folder),
        groups=_rules(folder),
        series=series,
        metadata=metadata,
        streams=_logs(folder),
        changes=_changes(folder),
    )


def _alert(folder: Path) -> bytes:
    text = text_of(folder, ALERT_FILE)
    try:
        json.loads(text)
    except json.JSONDecodeError as broken:
        raise ConfigurationError(f"{folder / ALERT_FILE}:{broken.lineno}: not JSON: {broken.msg}") from broken
    return text.encode()


class _RuleLine(Value):
    """An alerting rule as Prometheus' rule file has it."""

    alert: str
    expr: str
    for_: str = Field(default="0s", alias="for")
    labels: LabelMap = {}
    annotations: LabelMap = {}


class _GroupLine(Value):
    name: str
    interval: str = "1m"  # Prometheus' default evaluation interval
    rules: tuple[_RuleLine, ...]


class _RulesFile(Value):
    groups: tuple[_GroupLine, ...]


def _rules(folder: Path) -> tuple[RuleGroup, ...]:
    text, name = text_of(folder, RULES_FILE), str(folder / RULES_FILE)
    found = []
    for index, group in enumerate(parsed_yaml(text, name, _RulesFile).groups):
        interval_ms = unit_duration_ms(group.interval)
        if not interval_ms:
            line = line_of(text, ("groups", index, "interval"))
            raise ConfigurationError(f"{name}:{line}: {group.interval} is not a duration such as 30s")
        rules = []
        for number, rule in enumerate(group.rules):
            problem = _problem_of(rule)
            if problem is not None:
                field, reason = problem
                line = line_of(text, ("groups", index, "rules", number, field))
                raise ConfigurationError(f"{name}:{line}: {rule.alert}: {reason}")
            rules.append(
                AlertingRule(
                    alert=rule.alert,
                    expr=rule.expr,
                    for_ms=unit_duration_ms(rule.for_) or 0,
                    labels=rule.labels,
                    annotations=rule.annotations,
                )
            )
        found.append(RuleGroup(name=group.name, interval_ms=interval_ms, rules=tuple(rules)))
    return tuple(found)


def _problem_of(rule: _RuleLine) -> tuple[str, str] | None:
    """Give the field and the reason of what is wrong with `rule`, or None."""
    try:
        parse(rule.expr)
    except ExpressionRefused as refused:
        return "expr", str(refused)
    if unit_duration_ms(rule.for_) is None:
        return "for", f"{rule.for_} is not a duration such as 5m"
    for text in rule.annotations.values():
        if (unknown := unknown_template(text)) is not None:
            return "annotations", f"{unknown} is not filled in by the recorded backend"
    return None


class _LogLine(Value):
    time: str
    labels: LabelMap
    line: str = Field(max_length=bounds.MAX_LOG_LINE_CHARS)


def _logs(folder: Path) -> tuple[Stream, ...]:
    name = str(folder / LOGS_FILE)
    times: dict[Labels, array[int]] = {}
    lines: dict[Labels, list[str]] = {}
    for number, text in enumerate(text_of(folder, LOGS_FILE).split("\n"), start=1):
        if not text:
            continue
        if number > bounds.MAX_LOG_LINES:
            raise ConfigurationError(f"{name}:{number}: more than {bounds.MAX_LOG_LINES} lines")
        try:
            entry = _LogLine.model_validate_json(text)
        except ValidationError as refused:
            first = refused.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "(the line)"
            raise ConfigurationError(f"{name}:{number}: {where}: {first['msg']}") from refused
        moment = rfc3339_ns(entry.time)
        if moment is None:
            raise ConfigurationError(f"{name}:{number}: time: {entry.time} is not an RFC 3339 time")
        labels = labels_of(entry.labels)
        held = times.setdefault(labels, array("q"))
        if held and moment < held[-1]:
            raise ConfigurationError(f"{name}:{number}: the times of a stream must not go back")
        held.append(moment)
        lines.setdefault(labels, []).append(entry.line)
    return tuple(Stream(labels, held, tuple(lines[labels])) for labels, held in sorted(times.items()))


_KINDS: dict[str, type] = {"int": int, "object": dict, "": str}


def _changes(folder: Path) -> Changes:
    text, name = text_of(folder, CHANGES_FILE), str(folder / CHANGES_FILE)
    changes = parsed_json(text, name, Changes)
    for index, project in enumerate(changes.projects):
        at: tuple[str | int, ...] = ("projects", index)
        checked: list[tuple[tuple[str | int, ...], Object, tuple[str, ...]]] = [
            ((*at, "project"), project.project, REQUIRED_OF_PROJECT)
        ]
        checked += [((*at, "deployments", n), one, REQUIRED_OF_DEPLOYMENT) for n, one in enumerate(project.deployments)]
        checked += [
            ((*at, "merge_requests", n, "merge_request"), one.merge_request, REQUIRED_OF_MERGE_REQUEST)
            for n, one in enumerate(project.merge_requests)
        ]
        checked += [
            ((*at, "commits", n, "commit"), one.commit, REQUIRED_OF_COMMIT) for n, one in enumerate(project.commits)
        ]
        for place, one, required in checked:
            problem = _missing_of(one, required)
            if problem is not None:
                line = line_of(text, place)
                raise ConfigurationError(f"{name}:{line}: {'.'.join(map(str, place))}: {problem}")
    return changes


def _missing_of(one: Object, required: tuple[str, ...]) -> str | None:
    for field in required:
        key, _, kind = field.partition(":")
        value = one.get(key)
        if not isinstance(value, _KINDS[kind]) or isinstance(value, bool):
            return f"{key} must be there and be {'text' if not kind else f'an {kind}'}"
        if (key.endswith("_at") or key == "committed_date") and rfc3339_ns(str(value)) is None:
            return f"{key} is not an RFC 3339 time"
    return None
