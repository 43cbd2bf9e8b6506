"""What is wrong with a configuration: all of it at once, each problem a line that names its field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from inquest.errors import ConfigurationError

_IN_THE_FILE = {"base_url": "url", "step_ms": "scrape_interval", "repositories": "services"}
"""What the file calls a field of the value that is built from it, where the two differ."""


class Problems:
    """Collects what building the parts of a configuration refuses."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @contextmanager
    def of(self, field: str) -> Iterator[None]:
        """Note what is refused inside the `with`, and go on after it. `field` is the dotted name of the section."""
        try:
            yield
        except ConfigurationError as error:
            words = str(error)
            self._lines.append(words if words.startswith("workspaces.") else f"{field}: {words}")
        except ValidationError as error:
            for problem in error.errors(include_input=False, include_url=False, include_context=False):
                self._lines.append(_worded(field, problem))

    def check(self) -> None:
        """Raise ConfigurationError with every problem, a line each, when there are any."""
        if self._lines:
            raise ConfigurationError("\n".join(dict.fromkeys(self._lines)))


def _worded(field: str, problem: ErrorDetails) -> str:
    place = [_IN_THE_FILE.get(str(part), str(part)) for part in problem["loc"]]
    words = problem["msg"].removeprefix("Value error, ")
    return f"{'.'.join([field, *place])}: {words}"
