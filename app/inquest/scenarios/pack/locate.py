"""YAML and JSON into values, with the line of what is wrong.

JSON is YAML, near enough, and the composer of YAML is what knows lines.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from inquest.errors import ConfigurationError
from inquest.scenarios import bounds

_Model = TypeVar("_Model", bound=BaseModel)
Place = tuple[str | int, ...]


def text_of(folder: Path, name: str) -> str:
    """Read one file of a scenario folder. Raises ConfigurationError naming it."""
    path = folder / name
    try:
        size = path.stat().st_size
        if size > bounds.MAX_SCENARIO_FILE_BYTES:
            raise ConfigurationError(f"{path}: larger than {bounds.MAX_SCENARIO_FILE_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as failed:
        raise ConfigurationError(f"{path}: cannot be read ({failed.strerror})") from failed
    except UnicodeDecodeError as failed:
        raise ConfigurationError(f"{path}: byte {failed.start} is not UTF-8") from failed


def parsed_yaml(text: str, name: str, model: type[_Model]) -> _Model:
    """Read YAML into `model`. Raises ConfigurationError, a line for each problem."""
    encoded = json.dumps(_loaded(text, name), default=_written)
    try:
        return model.model_validate_json(encoded)
    except ValidationError as refused:
        raise ConfigurationError(_problems(refused, text, name)) from refused


def parsed_json(text: str, name: str, model: type[_Model]) -> _Model:
    """Read JSON into `model`. Raises ConfigurationError, a line for each problem."""
    try:
        json.loads(text)
    except json.JSONDecodeError as broken:
        raise ConfigurationError(f"{name}:{broken.lineno}: not JSON: {broken.msg}") from broken
    except RecursionError as deep:
        raise ConfigurationError(f"{name}:1: not JSON: nested too deep") from deep
    try:
        return model.model_validate_json(text)
    except ValidationError as refused:
        raise ConfigurationError(_problems(refused, text, name)) from refused


def _loaded(text: str, name: str) -> object:
    """Read YAML into plain values. Raises ConfigurationError with the line."""
    try:
        _refuse_bombs(text, name)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as broken:
        line = broken.problem_mark.line + 1 if broken.problem_mark else 1
        raise ConfigurationError(f"{name}:{line}: not YAML: {broken.problem}") from broken
    except (yaml.YAMLError, ValueError, RecursionError) as broken:  # ValueError: the 31st of February as a time
        raise ConfigurationError(f"{name}:1: not YAML: {broken}") from broken


def _refuse_bombs(text: str, name: str) -> None:
    """Refuse `*alias` (nine lines of them unfold into a billion values) and deep nesting (minutes to read)."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise ConfigurationError(f"{name}:{line}: aliases are not taken")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > bounds.MAX_YAML_DEPTH:
            raise ConfigurationError(f"{name}:{line}: nested deeper than {bounds.MAX_YAML_DEPTH}")


def _written(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise ConfigurationError(f"a {type(value).__name__} has no place in a scenario")


def line_of(text: str, place: Place) -> int:
    """Give the line of the deepest part of `place` that `text` has, from 1."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):  # JSON that YAML reads otherwise; the first line is better than none
        return 1
    line = 1
    for part in place:
        step = _step(node, part)
        if step is None:
            break
        line, node = step
    return line


def _step(node: yaml.Node | None, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    return None


def _problems(refused: ValidationError, text: str, name: str) -> str:
    return "\n".join(
        f"{name}:{line_of(text, problem['loc'])}: {'.'.join(map(str, problem['loc'])) or '(the file)'}: {problem['msg']}"
        for problem in refused.errors(include_url=False, include_input=False)
    )
