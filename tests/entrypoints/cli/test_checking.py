"""verify and replay: what was delivered, what is recorded, and what a change to either is told as."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.verify_id import NO_FOLDER
from tests.entrypoints.cli.running import KEY, Cli


def newest(cli: Cli) -> Path:
    folder = cli.folder / "reports" / cli.id
    return folder / (folder / "latest").read_text().strip()


def change(statement: str) -> None:
    """Change a row that nobody may change."""
    with psycopg.connect(os.environ["INQUEST_DATABASE_URL"].replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("set search_path = inquest")
        connection.execute(statement.encode())


# ---- a folder or a file


def test_a_folder_a_revision_and_a_file_are_verified(after_it: Cli) -> None:
    revision = newest(after_it)
    for what in (revision.parent, revision, revision / "report.json", revision / "report.md"):
        ran = after_it.run("verify", str(what), "--key", KEY.public_key)

        assert ran.code == Exit.ANSWERED, ran.out
        assert ran.out.splitlines()[-1] == f"{what}: verified"


def test_a_changed_word_is_told_by_its_file(after_it: Cli) -> None:
    report = newest(after_it) / "report.md"
    report.write_text(report.read_text().replace("checkout", "payment", 1))

    plain, as_json = (after_it.run("verify", str(report.parent), *options) for options in ((), ("--json",)))

    assert plain.code == as_json.code == Exit.FAILED
    assert "problem: report.md: changed since it was written" in plain.out.splitlines()
    assert plain.out.splitlines()[-1] == f"{report.parent}: {len(as_json.json['problems'])} problems"
    assert as_json.json["ok"] is False


def test_a_signature_of_somebody_else_is_a_problem_when_a_key_is_given(after_it: Cli) -> None:
    folder = str(newest(after_it))

    assert after_it.run("verify", folder).code == Exit.ANSWERED
    ran = after_it.run("verify", folder, "--key", "00" * 32)
    assert (ran.code, "signed with another key than the one that was given" in ran.out) == (Exit.FAILED, True)


def test_verifying_a_folder_needs_no_installation(after_it: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = newest(after_it)
    monkeypatch.setenv("INQUEST_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.delenv("INQUEST_KEY_FILE")

    assert after_it.run("verify", str(folder)).code == Exit.ANSWERED


# ---- an id


def test_an_id_is_verified_in_the_database_and_in_the_folder_that_was_delivered(after_it: Cli) -> None:
    found = after_it.id
    ran, as_json = after_it.run("verify", found), after_it.run("verify", found, "--json")

    assert ran.code == as_json.code == Exit.ANSWERED, ran.out
    assert ran.out.splitlines()[-1] == f"{found}: verified"
    assert NO_FOLDER not in ran.out
    assert as_json.json["folders"] == [str(after_it.folder / "reports" / found)]


def test_without_a_delivered_folder_the_report_is_written_anew_and_verified(after_it: Cli) -> None:
    found = after_it.id
    (after_it.folder / "reports").rename(after_it.folder / "elsewhere")
    ran = after_it.run("verify", found)
    (after_it.folder / "inquest.yaml").unlink()
    without_file = after_it.run("verify", found)

    assert ran.code == without_file.code == Exit.ANSWERED
    assert f"note: {NO_FOLDER}" in ran.out.splitlines()
    assert f"note: {NO_FOLDER}" in without_file.out.splitlines()


def test_a_changed_folder_is_told_by_an_id_too(after_it: Cli) -> None:
    found = after_it.id
    (newest(after_it) / "report.md").write_text("All is well.")

    ran = after_it.run("verify", found)

    assert ran.code == Exit.FAILED
    assert "report.md: changed since it was written" in ran.out


def test_a_folder_that_another_installation_signed_is_told_by_an_id(after_it: Cli) -> None:
    found = after_it.id
    (after_it.folder / "given.key").write_text("0c" * 32)

    ran = after_it.run("verify", found)

    assert (ran.code, "signed with another key" in ran.out) == (Exit.FAILED, True)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ("update event set body = overlay(body placing '9' from 30) where seq = 5", "event 5 does not have its digest"),
        ("delete from event where seq = 4", "event 4 is missing"),
        ("delete from content", "missing from the store"),
    ],
)
def test_a_changed_record_is_told_by_verify_and_by_replay(after_it: Cli, changed: str, told: str) -> None:
    found = after_it.id
    change(changed)

    verified, replayed, as_json = (
        after_it.run(*command) for command in (("verify", found), ("replay", found), ("replay", found, "--json"))
    )

    assert verified.code == replayed.code == as_json.code == Exit.FAILED
    assert f"problem: journal: {told}" in verified.out
    assert replayed.out.startswith(f"{found}: differs: {told}")
    assert (as_json.json["equal"], told in as_json.json["difference"]) == (False, True)


def test_an_id_that_is_nowhere_is_not_found(after_it: Cli) -> None:
    ran = after_it.run("verify", "f" * 32)

    assert (ran.code, ran.err) == (Exit.FAILED, f"not found: investigation {'f' * 32}\n")


# ---- replay


def test_a_journal_rebuilds_what_it_recorded(after_it: Cli) -> None:
    found = after_it.id
    plain, as_json = after_it.run("replay", found), after_it.run("replay", found, "--json")

    assert plain.code == as_json.code == Exit.ANSWERED
    assert plain.out.endswith(", as recorded\n")
    assert (as_json.json["equal"], as_json.json["stop_reason"]) == (True, "concluded")


def test_one_that_goes_on_is_rebuilt_without_a_claim_that_it_is_as_recorded(after_it: Cli) -> None:
    found = after_it.id
    change("delete from event where seq = (select max(seq) from event)")
    change("update investigation set version = version - 1, status = 'queued', ended_at = null")

    plain, as_json = after_it.run("replay", found), after_it.run("replay", found, "--json")

    assert plain.code == Exit.ANSWERED
    assert plain.out.endswith(", but its end records nothing to compare that with\n")
    assert as_json.json["equal"] is None
