"""Read the configuration file: every error names the file, the line, the field and the way out."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import override

from inquest.configuration.sections import Configuration
from inquest.errors import ConfigurationError

MAX_FILE_BYTES = 1_048_576
_SECRET_WORDS = ("password", "token", "secret", "api_key", "bearer", "key")

Place = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys and aliases (an alias bomb is 10 lines)."""

    @override
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not taken here", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    @override
    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # yaml's own
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is here twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read(path: Path) -> Configuration:
    """Read and check the file at `path`. Raises ConfigurationError listing every problem, a line each."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); give --config or INQUEST_CONFIG a readable file"
        raise ConfigurationError(msg) from error
    if len(raw) > MAX_FILE_BYTES:
        msg = f"{path}: larger than {MAX_FILE_BYTES} bytes"
        raise ConfigurationError(msg)
    try:
        return parse(raw.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        msg = f"{path}: byte {error.start} is not UTF-8"
        raise ConfigurationError(msg) from error


def parse(text: str, name: str) -> Configuration:
    """Check `text`, called `name` in errors. Raises ConfigurationError."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            loaded = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        msg = f"{name}:{line}: {error.problem or 'this is not YAML'}"
        raise ConfigurationError(msg) from error
    if not isinstance(loaded, dict):
        msg = f"{name}:1: the file is a mapping with the keys version and workspaces"
        raise ConfigurationError(msg)
    try:
        return Configuration.model_validate(loaded)
    except ValidationError as error:
        lines = [_explain(problem, node, name) for problem in error.errors(include_url=False, include_input=False)]
        raise ConfigurationError("\n".join(lines)) from None


def _explain(problem: ErrorDetails, node: yaml.Node | None, name: str) -> str:
    place: Place = tuple(part for part in problem["loc"] if part != "[key]")
    line = _line(node, place)
    field = ".".join(str(part) for part in place) or "(the file)"
    return f"{name}:{line}: {field}: {_reason(problem, place)}"


def _reason(problem: ErrorDetails, place: Place) -> str:
    match problem["type"]:
        case "extra_forbidden":
            return _unknown(str(place[-1]), _keys_at(place[:-1]))
        case "missing":
            return "is required"
        case "value_error":
            return str(problem["ctx"]["error"])
        case _:
            return str(problem["msg"])


def _unknown(key: str, known: list[str]) -> str:
    wanted = [one for one in known if one in {f"{key}_env", f"{key}_file"}]
    if wanted or (key in _SECRET_WORDS and not known):
        return f"a secret is never written here: use {' or '.join(wanted or [f'{key}_env', f'{key}_file'])}"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"unknown key; did you mean {near[0]}?" if near else f"unknown key; known here: {', '.join(known)}"


def _keys_at(place: Place) -> list[str]:
    """List the keys that the section at `place` knows, walking the types."""
    section: object = Configuration
    for part in place:
        fields = getattr(section, "model_fields", None)
        annotation = fields[str(part)].annotation if fields and str(part) in fields else section
        section = _inner(annotation)
    return sorted(getattr(section, "model_fields", {}))


def _inner(annotation: object) -> object:
    """Give the section inside dict[str, X], tuple[X, ...] or X | None, else the annotation itself."""
    for argument in reversed(getattr(annotation, "__args__", ())):
        if argument is not Ellipsis and argument is not type(None) and hasattr(argument, "model_fields"):
            return argument
    return annotation


def _line(node: yaml.Node | None, place: Place) -> int:
    """Give the 1-based line of the deepest part of `place` that the file has."""
    line = node.start_mark.line + 1 if node is not None else 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if found is None:
                return int(line)
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            return int(line)
    return int(line)
