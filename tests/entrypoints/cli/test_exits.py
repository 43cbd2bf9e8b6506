"""Exit codes, and how the end of a command is said: a line or a few, never a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from inquest.domain.diagnosis import Verdict
from inquest.domain.investigation import Status
from inquest.entrypoints.cli.ending import ended_with
from inquest.entrypoints.cli.exits import Exit, exit_of
from inquest.entrypoints.cli.follow import ENDED, StillGoing
from inquest.errors import ConfigurationError, FenceLost, InvariantBroken, NotFound, StoreUnavailable
from inquest.store.embedded import EmbeddedPostgresError
from tests.entrypoints.cli.running import Cli

CANARY = "CANARY-77"


@pytest.mark.parametrize(
    ("status", "verdict", "degraded", "code"),
    [
        ("succeeded", "cause_found", False, 0),
        ("succeeded", "healthy", False, 0),
        ("succeeded", "", False, 0),
        ("succeeded", "inconclusive", False, 1),
        ("succeeded", "contributing_only", False, 1),
        ("failed", "", False, 2),
        ("failed", "cause_found", True, 2),
        ("succeeded", "cause_found", True, 4),
        ("succeeded", "inconclusive", True, 4),
        ("cancelled", "", False, 5),
        ("cancelled", "cause_found", True, 5),
        ("deleting", "", False, 2),
    ],
)
def test_how_an_investigation_ended_is_its_exit_code(status: str, verdict: str, degraded: bool, code: int) -> None:
    assert exit_of(status=status, verdict=verdict, degraded=degraded) == code


def test_every_verdict_and_every_end_has_a_code() -> None:
    answers = {verdict: exit_of(status="succeeded", verdict=verdict, degraded=False) for verdict in Verdict}

    assert answers == {
        Verdict.CAUSE_FOUND: Exit.ANSWERED,
        Verdict.HEALTHY: Exit.ANSWERED,
        Verdict.INCONCLUSIVE: Exit.OPEN,
        Verdict.CONTRIBUTING_ONLY: Exit.OPEN,
    }
    assert {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.DELETING} == ENDED


# ---- usage


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such-command"], "No such command 'no-such-command'."),
        (["investigate"], "Missing argument 'body'."),
        (["investigate", "a.json", "--no-such-option"], "No such option: --no-such-option"),
        (["list", "--limit", "0"], "Invalid value for '--limit'"),
        (["list", "--limit", "x"], "Invalid value for '--limit'"),
        (["show"], "Missing argument 'investigation'."),
        (["show", "x"], "'x' is no investigation's id, which has 32 hex digits: see inquest list"),
        (["replay", "../../etc/passwd"], "no such file, and no investigation's id"),
        (["verify"], "Missing argument 'what'."),
        (["verify", "nowhere"], "nowhere: no such file or folder; give a report folder, a report.json, a bundle, or"),
        (["investigate", "nowhere.json"], "nowhere.json: cannot be read (No such file or directory)"),
        (["investigate", "."], ".: cannot be read (Is a directory)"),
        (["serve"], "no configuration: give --config FILE, set INQUEST_CONFIG, or write inquest.yaml"),
        (["work", "--config", "nowhere.yaml"], "nowhere.yaml: cannot be read (No such file or directory)"),
    ],
)
def test_wrong_usage_exits_with_3_and_says_what_in_a_line_or_two(cli: Cli, arguments: list[str], told: str) -> None:
    ran = cli.run(*arguments)

    assert ran.code == Exit.USAGE
    assert told in ran.err
    assert "Traceback" not in ran.err + ran.out
    assert len(ran.err.splitlines()) <= 2
    assert not (cli.folder / "home" / "postgres").exists()


def test_a_variable_that_cannot_be_meant_is_told_by_name_without_its_value(cli: Cli) -> None:
    cli.set(PORT=CANARY, LEASE_S="0", URL=f"http://u:{CANARY}@h")

    ran = cli.run("list")

    assert ran.code == Exit.USAGE
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["INQUEST_PORT", "INQUEST_URL", "INQUEST_LEASE_S"]
    assert CANARY not in ran.err


def test_help_is_no_error_and_no_command_is_wrong_usage(cli: Cli) -> None:
    helped, nothing = cli.run("--help"), cli.run()

    assert (helped.code, nothing.code) == (0, Exit.USAGE)
    for command in (
        "demo",
        "up",
        "serve",
        "work",
        "migrate",
        "investigate",
        "list",
        "cancel",
        "rerun",
        "delete",
        "show",
        "verify",
        "replay",
        "config",
    ):
        assert command in helped.out
        assert cli.run(command, "--help").code == 0


# ---- errors


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (ConfigurationError("inquest.yaml:3: x"), 3, "inquest.yaml:3: x"),
        (NotFound("investigation 1"), 2, "not found: investigation 1"),
        (StoreUnavailable("the database does not answer"), 2, "unavailable: the database does not answer"),
        (FenceLost("gone"), 2, "gone"),
        (StillGoing("it goes on"), 2, "it goes on"),
        (EmbeddedPostgresError("no room"), 2, "no room"),
        (PermissionError(13, "Permission denied", "/srv/x"), 2, "Permission denied: /srv/x"),
        (ConfigurationError("a.yaml:1: x\na.yaml:2: y"), 3, "a.yaml:1: x\na.yaml:2: y"),
        (ConfigurationError("fires: \x1b]0;x\x07é\u202e"), 3, "fires: ␛]0;x␇é⟨U+202E⟩"),
    ],
)
def test_an_error_of_ours_is_a_line(error: Exception, code: int, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert ended_with(_raising(error)) == code

    assert capfd.readouterr().err == f"{told}\n"


@pytest.mark.parametrize("bug", [RuntimeError(CANARY), InvariantBroken(CANARY), KeyError(CANARY)])
def test_a_bug_exits_with_2_and_says_where_it_is_and_not_what_it_quotes(
    bug: Exception, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    monkeypatch.setattr("inquest.telemetry.report_error", lambda error, tags: reported.append(error))

    assert ended_with(_raising(bug)) == Exit.FAILED

    said = capfd.readouterr().err
    assert said.startswith(f"a bug in Inquest: {type(bug).__name__} at ")
    assert CANARY not in said
    assert reported == [bug]


def _raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


# ---- signals and pipes


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let Ctrl-C count, also where the tests themselves were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_does_what_ctrl_c_does_and_the_handlers_are_as_they_were(capfd: pytest.CaptureFixture[str]) -> None:
    closed: list[str] = []

    def command(number: signal.Signals) -> None:
        try:
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 10)
        finally:
            closed.append(number.name)

    for number, code in (
        (signal.SIGTERM, Exit.TERMINATED),
        (signal.SIGHUP, Exit.TERMINATED),
        (signal.SIGINT, Exit.INTERRUPTED),
    ):
        assert ended_with(partial(command, number)) == code

    assert closed == ["SIGTERM", "SIGHUP", "SIGINT"]
    assert capfd.readouterr().err == "stopped\n" * 3
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_ends_a_background_job_of_a_script_for_which_ctrl_c_is_ignored() -> None:
    def command() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.sigtimedwait([], 10)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = ended_with(command)
        assert (code, signal.getsignal(signal.SIGINT)) == (Exit.TERMINATED, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_reader_that_has_gone_is_no_verdict() -> None:
    command = [sys.executable, "-m", "inquest", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)

    assert process.returncode == Exit.PIPE_CLOSED
    assert err == b""


# ---- quick to start


@pytest.mark.parametrize("command", [["--help"], ["investigate", "--help"], ["no-such-command"]])
def test_help_and_wrong_usage_import_nothing_that_is_slow(command: list[str]) -> None:
    program = (
        "import sys; from inquest.entrypoints.cli.commands import run; run(sys.argv[1:]);"
        "slow = {'pydantic_settings', 'sqlalchemy', 'fastapi', 'structlog', 'psycopg', 'alembic', 'litellm', 'httpx2'};"
        "sys.stderr.write('imported: ' + ' '.join(sorted(slow & set(sys.modules))))"
    )
    ran = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)

    assert ran.stderr.rpartition("imported: ")[2] == ""


def test_a_command_whose_standard_output_is_closed_ends_without_a_trace() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", '"$0" -m inquest --help >&-', sys.executable], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stderr) == (0, "")
