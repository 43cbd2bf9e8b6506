"""Every command of the pages is in the table of `typed.py`, and does what its row says when it is typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.house import House, house
from tests.docs.pages import PAGES, ROOT, blocks, lines_outside_code, name_of
from tests.docs.typed import TYPED, Elsewhere, Never, Prepare, Run, Serve, Start
from tests.e2e.servers import needs_servers
from tests.postgres import Databases, TemplateMaker

OF_THE_HOUSE = ("AGENTS.md", "CHANGELOG.md", "docs/adr/")
"""Not for a reader who runs Inquest: what changed, and how it is developed."""
BY_TITLE = {
    "docs/tutorials/first-report.md": "tests/docs/test_tutorial.py",
    "docs/tutorials/your-own-prometheus.md": "tests/e2e/test_try.py",
}
"""Pages that are one story: their own test types their blocks, each by its title."""
READERS = [page for page in PAGES if not name_of(page).startswith(OF_THE_HOUSE)]
SHELLS = frozenset({"", "sh", "console"})
COMMENT = re.compile(r"\s+#\s.*$")
IN_PROSE = re.compile(r"`((?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?inquest [a-z]+ [^`]+|curl [^`]+|docker [^`]+)`")
NAME_ALONE = re.compile(r"(?:\.venv/bin/)?inquest(?: [a-z-]+){1,2}")


def commands(page: Path) -> Iterator[str]:
    """Give the command lines of a page: of its blocks each line that is typed, of its prose what has arguments."""
    for block in blocks(page):
        if block.language in SHELLS and not (block.title and name_of(page) in BY_TITLE):
            lines = block.text.replace("\\\n", "").splitlines()
            typed = [line.removeprefix("$ ") for line in lines if block.language != "console" or line.startswith("$ ")]
            yield from (re.sub(r"  +", " ", COMMENT.sub("", line)).strip() for line in typed if line.strip())
    for _, line in lines_outside_code(page):
        yield from (found for found in IN_PROSE.findall(line) if not NAME_ALONE.fullmatch(found))


SHOWN = {page: tuple(dict.fromkeys(commands(page))) for page in READERS}
BEFORE = {line for how in TYPED.values() if isinstance(how, Run | Serve) for line in how.before}


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_every_command_of_a_page_has_a_row(page: Path) -> None:
    """A new command is a row of tests/docs/typed.py; a block that is not typed names its language."""
    assert [one for one in SHOWN[page] if one not in TYPED and one not in BEFORE] == []


def test_every_row_is_of_a_command_that_a_page_shows() -> None:
    shown = {one for page in SHOWN.values() for one in page}
    assert sorted({*TYPED, *BEFORE} - shown) == []


@pytest.mark.parametrize("page", BY_TITLE)
def test_every_block_with_a_title_is_typed_by_the_test_of_its_page(page: str) -> None:
    titles = {block.title for block in blocks(ROOT / page) if block.language in SHELLS and block.title}
    source = (ROOT / BY_TITLE[page]).read_text("utf-8")
    assert sorted(title for title in titles if f'"{title}"' not in source) == []


@pytest.mark.parametrize("command", [one for one, how in TYPED.items() if isinstance(how, Elsewhere)])
def test_what_is_run_elsewhere_is_run_there(command: str) -> None:
    how = TYPED[command]
    assert isinstance(how, Elsewhere)
    file, _, name = how.where.partition("::")
    source = (ROOT / file).read_text("utf-8")
    if name:
        defined = {
            node.name
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in defined
    else:
        assert command.rsplit(maxsplit=1)[-1] in source


# ---- typed


@pytest.fixture(scope="module")
def readers_house(
    tmp_path_factory: pytest.TempPathFactory, databases: Databases, template_maker: TemplateMaker
) -> Iterator[House]:
    given = databases.clone(template_maker)
    with house(tmp_path_factory.mktemp("reader"), given.url) as made:
        yield made
    databases.drop(given)


@pytest.mark.e2e
@needs_servers
@pytest.mark.parametrize("command", [one for one, how in TYPED.items() if not isinstance(how, Elsewhere | Never)])
def test_a_command_does_what_its_page_says(readers_house: House, command: str) -> None:
    match TYPED[command]:
        case Run(says=says, exits=exits, before=before):
            done = readers_house.type_in(command, before)
            said = done.stdout + done.stderr
            assert (done.returncode, says in said) == (exits, True), said
        case Serve(says=says, before=before):
            with readers_house.serving(command, before, INQUEST_PORT="0") as process:
                process.until_says(says)
                process.must_live()
        case Prepare() | Start() | Elsewhere() | Never():
            pass  # the house stands on it, or it is not typed here
