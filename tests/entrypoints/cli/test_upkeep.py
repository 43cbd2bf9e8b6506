"""migrate and config check: every problem at once, and nothing started for it."""

from __future__ import annotations

import subprocess
import sys

from inquest.entrypoints.cli.exits import Exit
from inquest.store import migrate
from tests.bootstrap.files import OPEN_INTAKE, file_of, prometheus
from tests.entrypoints.cli.running import Cli
from tests.postgres import Databases, NewDatabase


def test_a_good_file_is_said_to_be_one_with_what_it_makes(cli: Cli) -> None:
    services = {"checkout": {"match": {"service": "checkout"}}}
    cli.write("inquest.yaml", file_of(intakes={"am": OPEN_INTAKE}, integrations={"p": prometheus()}, services=services))

    plain, as_json = cli.run("config", "check"), cli.run("config", "check", "--json")

    assert (plain.code, plain.err) == (0, "")
    assert plain.out.splitlines() == [
        "inquest.yaml: no problems",
        "  workspace:    default",
        "  intakes:      am",
        "  integrations: p",
        "  services:     checkout",
        "  destinations: none",
        "  investigator: analyst",
    ]
    assert (as_json.code, as_json.json["ok"], as_json.json["workspaces"][0]["intakes"]) == (0, True, ["am"])
    assert not (cli.folder / "home").exists()


def test_every_problem_of_a_broken_file_is_told_and_no_secret(cli: Cli) -> None:
    cli.write("bad.yaml", "version: 1\nworkspaces:\n  default:\n    intake: {}\n    model: {api_key: hunter2}\n")

    plain, as_json = (cli.run("config", "check", "--config", "bad.yaml", *options) for options in ((), ("--json",)))

    assert plain.code == as_json.code == Exit.USAGE
    assert plain.err.splitlines() == [
        "bad.yaml:4: workspaces.default.intake: unknown key; did you mean intakes?",
        "bad.yaml:5: workspaces.default.model.api_key: a secret is never written here: use api_key_env or api_key_file",
    ]
    assert (as_json.json["ok"], as_json.json["problems"]) == (False, plain.err.splitlines())
    assert "hunter2" not in plain.err + as_json.out


def test_a_missing_secret_is_told_by_its_field(cli: Cli) -> None:
    locked = {"type": "alertmanager", "auth": {"bearer_env": "NOT_SET"}}
    cli.write("inquest.yaml", file_of(intakes={"am": locked}))

    ran = cli.run("config", "check")

    assert ran.code == Exit.USAGE
    assert ran.err == ("workspaces.default.intakes.am.auth.bearer_env: the variable NOT_SET is not set or empty\n")


def test_a_model_of_unknown_window_and_price_is_refused_with_the_keys_to_set(cli: Cli) -> None:
    unknown = {"names": ["nobody-knows-this"], "base_url": "http://127.0.0.1:9/v1"}
    cli.write("inquest.yaml", file_of(intakes={"am": OPEN_INTAKE}, model=unknown))
    refused = checked_apart(cli)

    assert refused.returncode == Exit.USAGE
    window, price = refused.stderr.splitlines()
    assert window.startswith(
        "workspaces.default.model.context_window_tokens: litellm does not know nobody-knows-this; "
    )
    assert price.startswith("workspaces.default.model.price: litellm does not know what nobody-knows-this costs; ")

    known = unknown | {"context_window_tokens": 32_000, "price": {"input_usd": 0, "output_usd": 0}}
    cli.write("inquest.yaml", file_of(intakes={"am": OPEN_INTAKE}, model=known))
    assert checked_apart(cli).returncode == Exit.ANSWERED


def checked_apart(cli: Cli) -> subprocess.CompletedProcess[str]:
    """Check in a process of its own: litellm stays imported in the one that does it, and changes it."""
    command = [sys.executable, "-m", "inquest", "config", "check"]
    return subprocess.run(command, cwd=cli.folder, capture_output=True, text=True, check=False)


def test_the_file_is_looked_for_where_it_is_usual_and_where_it_is_named(cli: Cli) -> None:
    nowhere = cli.run("config", "check")
    (cli.folder / "config").mkdir()
    cli.write("config/inquest.yaml", file_of(intakes={"am": OPEN_INTAKE}))
    usual = cli.run("config", "check")
    cli.write("other.yaml", file_of(intakes={"other": OPEN_INTAKE}))
    cli.set(CONFIG="other.yaml")
    named = cli.run("config", "check")
    given = cli.run("config", "check", "--config", "config/inquest.yaml")

    assert [one.code for one in (nowhere, usual, named, given)] == [Exit.USAGE, 0, 0, 0]
    assert "give --config FILE, set INQUEST_CONFIG, or write inquest.yaml or config/inquest.yaml" in nowhere.err
    assert [one.out.partition(":")[0] for one in (usual, named, given)] == [
        "config/inquest.yaml", "other.yaml", "config/inquest.yaml",
    ]  # fmt: skip


def test_migrate_makes_the_schema_and_is_safe_to_repeat(cli: Cli, databases: Databases) -> None:
    made = databases.clone(_nothing)
    cli.use(made)
    ran = [cli.run("migrate") for _ in range(2)]
    current = migrate.current(made.url)
    databases.drop(made)

    assert [(one.code, one.out) for one in ran] == [(0, f"the database is at version {migrate.head()}\n")] * 2
    assert current == migrate.head()


def _nothing(_: str) -> None:
    """Leave a template empty."""


def test_migrate_needs_no_key(cli: Cli, database: NewDatabase) -> None:
    cli.set(DATABASE_URL=database().url)

    assert cli.run("migrate").code == 0
