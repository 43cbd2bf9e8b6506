"""What a page tells its reader to type can be typed: commands, make targets, modules."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from click.exceptions import ClickException

from inquest.entrypoints.cli.commands import app
from tests.docs.pages import PAGES, ROOT, blocks, lines_outside_code, name_of, table

GROUP: Any = typer.main.get_command(app)
TYPED_IN = frozenset({"", "sh", "console"})
"""Languages of code that a reader types; without one it is code of the house's own pages."""
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?inquest (?P<arguments>[^#|>&;]+)")
TARGET = re.compile(r"^(?:\$ )?make (?P<target>[a-z0-9-]+)")
MODULE = re.compile(r"python\S* -m (?P<module>(?:tests|tools|bench|inquest)[\w.]*)")
IN_BACKTICKS = re.compile(r"`([^`]+)`")


def in_code(page: Path) -> Iterator[tuple[str, str]]:
    """Give each line that a page's code has its reader type, with where it stands."""
    for block in blocks(page):
        if block.language in TYPED_IN:
            lines = block.text.replace("\\\n", " ").splitlines()
            yield from ((f"the code at line {block.line}", line.strip()) for line in lines)


def in_prose(page: Path) -> Iterator[tuple[str, str]]:
    """Give each text in backticks, with where it stands."""
    for number, line in lines_outside_code(page):
        yield from ((f"line {number}", found) for found in IN_BACKTICKS.findall(line))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_inquest_command_that_is_shown_parses(page: Path) -> None:
    said = [(place, line, False) for place, line in in_code(page)] + [(*one, True) for one in in_prose(page)]
    commands = [(place, found["arguments"], prose) for place, line, prose in said if (found := COMMAND.match(line))]
    wrong = [f"{place}: inquest {what.strip()}: {_wrong(what, named=prose)}" for place, what, prose in commands]
    assert [one for one in wrong if not one.endswith(": ")] == []


def _wrong(arguments: str, *, named: bool) -> str:
    """Parse a command line as the command would, and do nothing. `named`: a bare command is its name, as in prose."""
    words = shlex.split(arguments, comments=True)
    command, path = GROUP, ["inquest"]
    while hasattr(command, "commands"):
        name = words.pop(0) if words else ""
        if name.startswith("-"):
            return ""  # --help
        if name not in command.commands:
            return f"there is no command {name!r}"
        command, path = command.commands[name], [*path, name]
    if "--help" in words or (named and not words):
        return ""
    try:
        command.make_context(" ".join(path), words)
    except ClickException as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_make_target_that_is_shown_exists(page: Path) -> None:
    known = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {found["target"] for _, line in [*in_code(page), *in_prose(page)] if (found := TARGET.match(line))}
    assert sorted(shown - known) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_that_is_run_exists(page: Path) -> None:
    said = [line for _, line in [*in_code(page), *in_prose(page)]]
    modules = {found["module"] for line in said for found in MODULE.finditer(line)}
    assert sorted(module for module in modules if not _is_there(module)) == []


def _is_there(module: str) -> bool:
    path = (ROOT / "app" if module.startswith("inquest") else ROOT) / Path(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


# ---- the reference of the command line ---------------------------------------------------------------------


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # Typer's own
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(_commands(GROUP, "inquest"))
REFERENCE = "docs/reference/command-line.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_lists_every_option_and_argument_of_a_command(name: str) -> None:
    taken = {
        next(option for option in one.opts if option.startswith("--"))
        if one.opts[0].startswith("-")
        else one.name.upper()
        for one in COMMANDS[name].params
    } - {"--help"}
    listed = {row[0].strip("`").split(" ")[0] for row in table(REFERENCE, name, empty=not taken)}
    assert listed == taken


def test_the_reference_has_no_command_that_is_gone() -> None:
    headings = re.findall(r"^### (inquest .+?) *$", (ROOT / REFERENCE).read_text("utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(COMMANDS)
