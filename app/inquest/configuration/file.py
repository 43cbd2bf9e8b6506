"""Read the configuration file: every error names the file, the line, the field and the way out."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import override

from inquest import address
from inquest.configuration.sections import Configuration
from inquest.configuration.shape import PATTERNS
from inquest.errors import ConfigurationError, UnreadableFile
from inquest.files import read_file

MAX_FILE_BYTES = 1_048_576
MAX_NODES = 30_000
"""Keys and values of a file. A thousand services have half of them; reading more takes longer than anybody waits."""
MAX_DEPTH = 32
MAX_PROBLEMS = 50
"""Lines of one refusal; how many more there are is said."""
_SECRET_WORDS = ("password", "token", "secret", "api_key", "bearer", "key")

Place = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys, tags, aliases (an alias bomb is 10 lines), and what has no end."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = 0
        self._depth = 0

    @override
    def compose_node(self, parent: Any, index: Any) -> Any:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise yaml.MarkedYAMLError(problem=f"more than {MAX_NODES:,} keys and values", problem_mark=mark)
        if self._depth >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH}", problem_mark=mark)
        self._depth += 1
        try:
            return self._composed(parent, index)
        finally:
            self._depth -= 1

    def _composed(self, parent: Any, index: Any) -> Any:  # noqa: ANN401  # yaml's own
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            words = "aliases are not taken here: write the value where it is used"
            raise yaml.MarkedYAMLError(problem=words, problem_mark=event.start_mark)
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            words = "tags are not taken here: write the value without !..."
            raise yaml.MarkedYAMLError(problem=words, problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    @override
    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # yaml's own
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (dict, list, set)):
                raise yaml.MarkedYAMLError(problem="a key is a word", problem_mark=key_node.start_mark)
            if key in seen:
                words = f"the key {key!r} is here twice: leave one"
                raise yaml.MarkedYAMLError(problem=words, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read(path: Path) -> Configuration:
    """Read and check the file at `path`. Raises ConfigurationError listing every problem, a line each."""
    try:
        raw = read_file(path, most=MAX_FILE_BYTES)
    except UnreadableFile as error:
        msg = f"{path}: cannot be read ({error}); give --config or INQUEST_CONFIG a readable file"
        raise ConfigurationError(msg) from error
    try:
        return parse(raw.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        msg = f"{path}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8"
        raise ConfigurationError(msg) from error


def parse(text: str, name: str) -> Configuration:
    """Check `text`, called `name` in errors. Raises ConfigurationError."""
    node, loaded = _load(text, name)
    if not isinstance(loaded, dict):
        msg = f"{name}:1: the file is a mapping with the keys version and workspaces"
        raise ConfigurationError(msg)
    try:
        return Configuration.model_validate(loaded)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        told = sorted((_explain(problem, node) for problem in problems[:MAX_PROBLEMS]), key=lambda one: one[0])
        lines = [f"{name}:{line}: {words}" for line, words in told]
        if len(problems) > MAX_PROBLEMS:
            lines.append(f"{name}: {len(problems) - MAX_PROBLEMS} more problems")
        raise ConfigurationError("\n".join(lines)) from None


def _load(text: str, name: str) -> tuple[yaml.Node | None, object]:
    """Give the file as nodes, which know their lines, and as plain values. Raises ConfigurationError."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return node, loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or "this is not YAML"
        msg = f"{name}:{line}: {_YAML_WORDS.get(problem, problem)}"
        raise ConfigurationError(msg) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        msg = f"{name}:{line}: a control character is not taken here"
        raise ConfigurationError(msg) from error
    except ValueError as error:  # YAML's own scalars: a date such as 2026-13-45, a number of 5,000 digits
        msg = f"{name}: a value is no date or number, though it looks like one ({error}); put it in quotes"
        raise ConfigurationError(msg) from error
    finally:
        if loader is not None:
            loader.dispose()


def _explain(problem: ErrorDetails, node: yaml.Node | None) -> tuple[int, str]:
    """Give the line of a problem, and its field with what is wrong there."""
    place: Place = tuple(part for part in problem["loc"] if part != "[key]")
    field = ".".join(str(part) for part in place) or "(the file)"
    return _line(node, place), f"{field}: {_reason(problem, place)}"


_YAML_WORDS = {
    "found character '\\t' that cannot start any token": "a tab is not taken here: indent with spaces",
    "but found another document": "a second document begins: a file holds one",
    "could not determine a constructor for the tag 'tag:yaml.org,2002:merge'": "<< is not taken here: write the keys",
}
"""What the YAML reader says, where it can be said better."""
_A_LIST = "is a list: write [a, b], or a line beginning with - for each"
_A_SECTION = "is a section: write its keys below it"
_WORDS = {
    "missing": "is required",
    "tuple_type": _A_LIST,
    "frozen_set_type": _A_LIST,
    "dict_type": _A_SECTION,
    "model_type": _A_SECTION,
    "string_type": 'is text: put it in quotes, as in "on" or "17"',
    "string_too_short": address.WRITE_SO,
}
"""What pydantic finds wrong, in the words of the file."""


def _reason(problem: ErrorDetails, place: Place) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return _unknown(str(place[-1]), _keys_at(place[:-1]))
        case "value_error":
            return str(context["error"])
        case "string_pattern_mismatch":
            return PATTERNS.get(context["pattern"], problem["msg"])
        case _:
            return _WORDS.get(kind, problem["msg"])


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
