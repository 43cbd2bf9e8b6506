"""compare: two investigations of any kind of place, in two columns or as JSON, with an exit code for a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from inquest.destinations.shared.bundle import folder_files
from inquest.domain.report import Report
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.side_by_side import side_by_side
from inquest.stages.comparison import compare
from tests.entrypoints.cli.running import Cli
from tests.entrypoints.cli.test_checking import newest
from tests.entrypoints.cli.test_exporting import exported
from tests.incident import incident_shelf
from tests.reports import HOSTS, KEY, whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)


def folder(at: Path, report: Report = REPORT) -> Path:
    for name, raw in folder_files(report, SHELF.contents, HOSTS, KEY).items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(raw)
    return at


# ---- from wherever they are


def test_an_id_a_folder_a_file_and_a_bundle_of_one_investigation_are_the_same(after_it: Cli) -> None:
    revision = newest(after_it)
    places = [after_it.id, str(revision.parent), str(revision), str(revision / "report.json"), str(exported(after_it))]

    for place in places[1:]:
        ran = after_it.run("compare", places[0], place, "--json")
        assert (ran.code, ran.json["same_conclusion"], ran.json["evidence"]) == (Exit.ANSWERED, True, []), place
    assert after_it.run("compare", places[0], places[0]).out.startswith("The same conclusion, from the same evidence.")


def test_files_are_compared_without_an_installation(cli: Cli) -> None:
    one, other = folder(cli.folder / "one"), folder(cli.folder / "other")
    cli.set(DATABASE_URL="postgresql://127.0.0.1:1/none")

    assert cli.run("compare", str(one), str(other)).code == Exit.ANSWERED


def test_another_conclusion_is_another_exit_code(after_it: Cli) -> None:
    other = folder(after_it.folder / "other")
    text, as_json = (after_it.run("compare", after_it.id, str(other), *more) for more in ((), ("--json",)))

    assert text.code == as_json.code == Exit.OPEN
    assert text.out.startswith("Another conclusion")
    assert (as_json.json["schema_version"], as_json.json["same_conclusion"]) == (1, False)
    assert "\x1b" not in text.out  # no colour where nobody looks


# ---- what cannot be compared


def test_what_does_not_verify_is_not_compared(cli: Cli) -> None:
    one, other = folder(cli.folder / "one"), folder(cli.folder / "other")
    (other / "report.md").write_text("All is well.")

    ran = cli.run("compare", str(one), str(other))

    assert (ran.code, ran.out) == (Exit.FAILED, "")
    assert ran.err == f"{other} does not verify: report.md: changed since it was written\n"


def test_a_changed_bundle_is_not_compared(after_it: Cli) -> None:
    path = exported(after_it)
    path.write_bytes(path.read_bytes()[:-1])

    ran = after_it.run("compare", str(path), str(path))

    assert (ran.code, ran.err.startswith(f"{path} does not verify: its end is not")) == (Exit.FAILED, True)


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [("nothing.tar", Exit.USAGE, "nothing.tar: no such file"), ("f" * 32, Exit.FAILED, "not found: investigation fff")],
)
def test_what_is_not_there_is_named(after_it: Cli, what: str, code: Exit, said: str) -> None:
    ran = after_it.run("compare", after_it.id, what)

    assert (ran.code, ran.err.startswith(said), ran.out) == (code, True, "")


# ---- as text


def test_what_differs_stands_side_by_side_and_marked() -> None:
    other = REPORT.but(service="payments", evidence=REPORT.evidence[1:], limits_hit=("deadline",))

    lines = side_by_side(compare(REPORT, other)).splitlines()

    (service,) = [line for line in lines if line.strip("\x1b[3m≠ ").startswith("service")]
    assert service.startswith("\x1b[33m≠ service")
    assert service.split()[-2:] == ["checkout", "payments\x1b[0m"]
    assert any(line.startswith("\x1b[31m- only in A, E1: ") for line in lines)
    assert "\x1b[32m+ only in B: deadline\x1b[0m" in lines
    assert any(line.startswith("  verdict") and line.endswith(" cause_found") for line in lines)


def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    other = REPORT.but(title="A" * 300, service="", evidence=())

    lines = side_by_side(compare(REPORT, other)).replace("\x1b[33m", "").replace("\x1b[31m", "").replace("\x1b[0m", "")

    assert max(len(line) for line in lines.splitlines()) <= 80


def test_foreign_text_cannot_steer_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\nrm -rf /\u202e"
    diagnosis = REPORT.diagnosis
    assert diagnosis is not None
    other = REPORT.but(
        service=hostile, limits_hit=(hostile,), diagnosis=diagnosis.but(root_cause=hostile, ruled_out=())
    )

    text = side_by_side(compare(REPORT, other))

    assert not any(sign in text for sign in ("\x1b]", "\x1b[2J", "\x07", "\u202e"))
    assert not any(line.startswith("rm -rf") for line in text.splitlines())
