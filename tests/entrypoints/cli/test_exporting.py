"""export: one file of an investigation, which whoever has it can check, and which holds no secret."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inquest.bundles.reading import open_bundle
from inquest.entrypoints.cli.exits import Exit
from inquest.scenarios.server import RecordedBackend
from tests.bootstrap.files import prometheus
from tests.entrypoints.cli.running import KEY, Cli
from tests.entrypoints.cli.test_checking import change


def exported(cli: Cli, name: str = "bundle.tar") -> Path:
    path = cli.folder / name
    assert cli.run("export", cli.id, "-o", str(path), "--force").code == Exit.ANSWERED
    return path


# ---- what is written


def test_a_bundle_is_written_verified_and_replayed(after_it: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    found = after_it.id
    ran = after_it.run("export", found)
    path = after_it.folder / f"{found}.tar"

    assert ran.code == Exit.ANSWERED, ran.err
    assert ran.out.startswith(f"{found}.tar: {path.stat().st_size} bytes, sha256 ")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in after_it.folder.iterdir() if found in one.name) == [path.name]

    recorded = after_it.run("replay", found, "--json").json
    monkeypatch.setenv("INQUEST_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.delenv("INQUEST_KEY_FILE")
    verified = after_it.run("verify", str(path), "--key", KEY.public_key)
    replayed = after_it.run("replay", str(path), "--json")
    assert (verified.code, verified.out) == (Exit.ANSWERED, f"{path}: verified\n")
    assert replayed.json == {**recorded, "id": str(path)}


def test_the_same_investigation_gives_the_same_bytes(after_it: Cli) -> None:
    assert exported(after_it, "one.tar").read_bytes() == exported(after_it, "two.tar").read_bytes()


# ---- a name that is taken, or no name for a file


def test_a_file_that_is_there_is_left_alone_unless_told_otherwise(after_it: Cli) -> None:
    taken = after_it.write("taken.tar", "mine")
    refused = after_it.run("export", after_it.id, "--output", "taken.tar")

    assert (refused.code, taken.read_text()) == (Exit.USAGE, "mine")
    assert refused.err == "taken.tar: exists; give --force to overwrite it, or another name with --output\n"
    assert after_it.run("export", after_it.id, "-o", "taken.tar", "--force").code == Exit.ANSWERED
    assert after_it.run("verify", "taken.tar").code == Exit.ANSWERED
    assert taken.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["a folder", "a pipe", "a link"])
def test_what_is_no_ordinary_file_is_left_alone_even_when_forced(after_it: Cli, name: str) -> None:
    path = after_it.folder / "there"
    make: dict[str, Callable[[], None]] = {
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link": lambda: path.symlink_to("/dev/null"),
    }
    make[name]()

    ran = after_it.run("export", "f" * 32, "-o", str(path), "--force")

    assert (ran.code, ran.err) == (Exit.USAGE, f"{path}: is no ordinary file, and is left alone\n")


def test_a_folder_that_is_not_there_is_named(after_it: Cli) -> None:
    ran = after_it.run("export", after_it.id, "-o", "nowhere/bundle.tar")

    assert (ran.code, ran.err) == (
        Exit.USAGE,
        "nowhere/bundle.tar: cannot be written (No such file or directory)\n",
    )


def test_an_export_that_fails_leaves_nothing(after_it: Cli) -> None:
    found = after_it.id
    change("delete from content")
    before = sorted(one.name for one in after_it.folder.iterdir())

    ran = after_it.run("export", found)

    assert (ran.code, ran.out) == (Exit.FAILED, "")
    assert "content sha256:" in ran.err
    assert sorted(one.name for one in after_it.folder.iterdir()) == before


# ---- which investigation


def test_one_that_goes_on_is_not_exported(after_it: Cli) -> None:
    found = after_it.id
    change("delete from event where kind = 'run_succeeded'")
    change("update investigation set version = version - 1, status = 'running'")

    ran = after_it.run("export", found)

    assert (ran.code, ran.err) == (Exit.FAILED, f"{found} has not ended: there is nothing yet that could be exported\n")


def test_an_id_that_is_nowhere_is_not_found(after_it: Cli) -> None:
    ran = after_it.run("export", "f" * 32)

    assert (ran.code, ran.err) == (Exit.FAILED, f"not found: investigation {'f' * 32}\n")


# ---- a bundle that is not as it was written


def test_a_changed_bundle_is_refused_in_a_line_by_verify_and_by_replay(after_it: Cli) -> None:
    path = exported(after_it)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"checkout", b"payments", 1))

    verified, replayed = after_it.run("verify", str(path)), after_it.run("replay", str(path))

    assert verified.code == replayed.code == Exit.FAILED
    assert len(verified.out.splitlines()) == 2  # what it is, and that it is one problem
    assert "changed since it was written" in verified.out
    assert len(replayed.out.splitlines()) == 1
    assert replayed.out.startswith(f"{path}: differs: ")


def test_what_is_neither_a_file_nor_an_id_is_a_wrong_argument(cli: Cli) -> None:
    ran = cli.run("replay", "nothing.tar")

    assert (ran.code, ran.err.startswith("nothing.tar: no such file")) == (Exit.USAGE, True)


# ---- what it does not hold


def test_no_secret_and_no_credential_is_in_a_bundle_or_a_draft(on_call: Cli, backend: RecordedBackend) -> None:
    """Secrets of every kind that an installation has, and those that a sender put into its alert."""
    secrets = {
        "operator": "operator-canary-3f2b",
        "integration": "integration-canary-9c1d",
        "in an annotation": "annotation-canary-77aa",
        "in a label": "label-canary-12bc",
        "by its format": "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5",
    }
    on_call.set(OPERATOR_TOKEN=secrets["operator"], PROMETHEUS_TOKEN=secrets["integration"])
    source = prometheus(backend.prometheus_url) | {
        "credential": {"profile": "prometheus", "bearer_env": "INQUEST_PROMETHEUS_TOKEN"}
    }
    on_call.configure(backend.prometheus_url, integrations={"prometheus": source})
    post = json.loads(backend.alert)
    for alert in post["alerts"]:
        alert["annotations"]["note"] = f"password={secrets['in an annotation']} {secrets['by its format']}"
        alert["annotations"]["seen"] = f"{secrets['operator']} {secrets['integration']}"
        alert["labels"]["api_key"] = secrets["in a label"]
    on_call.write("alert.json", json.dumps(post))
    assert on_call.run("investigate", "alert.json").code == Exit.ANSWERED

    raw = exported(on_call).read_bytes()
    assert on_call.run("export", on_call.id, "--postmortem", "-o", "draft.md").code == Exit.ANSWERED
    draft = (on_call.folder / "draft.md").read_bytes()

    assert b"CheckoutErrorRatio" in raw  # the alert is there
    hidden = {name: value.encode() for name, value in secrets.items()} | {
        "seed": KEY.seed,
        "seed in hex": KEY.seed.hex().encode(),
    }
    forms = {name: (value, base64.b64encode(value), value.hex().encode()) for name, value in hidden.items()}
    assert [name for name, ways in forms.items() if any(way in raw or way in draft for way in ways)] == []
    assert backend.alert not in raw


def test_the_posts_that_brought_its_alerts_are_facts_without_their_bytes(after_it: Cli) -> None:
    with open_bundle(exported(after_it)) as bundle:
        (post,) = bundle.intake.posts

    assert (post.intake, post.state, post.members, post.counts) == ("am", "accepted", 1, {"opened": 1})


# ---- the draft of a postmortem


def test_a_draft_says_what_is_recorded_and_asks_for_what_is_not(after_it: Cli) -> None:
    found = after_it.id
    ran = after_it.run("export", found, "--postmortem")
    draft = (after_it.folder / f"{found}.md").read_text()

    assert ran.code == Exit.ANSWERED, ran.err
    assert [line for line in draft.splitlines() if line.startswith("## ")] == [
        "## Summary", "## Impact", "## What happened and since when", "## Timeline with changes", "## Detection",
        "## Response", "## Cause and confidence", "## Ruled out", "## What went well, what did not, where luck helped",
        "## Actions", "## Earlier episodes", "## Evidence", "## What could not be checked",
    ]  # fmt: skip
    assert draft.count("**To be written**") >= 7
    assert "connection" in draft
