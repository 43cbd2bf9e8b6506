"""try: a report on what fires at a Prometheus, with nothing else set up; and one clear line where there is none."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inquest.domain.value import Json
from inquest.entrypoints.cli import try_run as module
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.line import typed_as
from inquest.scenarios.server import RecordedBackend
from tests.entrypoints.cli.running import Cli
from tests.fakes.loopback import Act, Handler, Loopback, Reply, Seen, loopback
from tests.fakes.prometheus import error, route, success

DOWN = {"alertname": "Down", "severity": "critical", "service": "checkout"}
SECRET = "hunter2hunter2"


@contextmanager
def serving(handler: Handler) -> Iterator[Loopback]:
    """Run a fake beside a test that runs a command, which has an event loop of its own."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    started: list[tuple[Loopback, asyncio.Event]] = []

    async def serve() -> None:
        async with loopback(handler) as fake:
            ends = asyncio.Event()
            started.append((fake, ends))
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    fake, ends = started[0]
    try:
        yield fake
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()


def alert(state: str, **labels: str) -> dict[str, Any]:
    return {"labels": {**DOWN, **labels}, "annotations": {}, "state": state, "activeAt": "2026-03-01T09:00:00Z"}


def telling(*alerts: dict[str, Any], rules: tuple[str, ...] = ("Down", "Slow")) -> Handler:
    """Answer as a Prometheus at which `alerts` are known."""
    listed: list[Json] = [{"type": "alerting", "name": name, "query": "up == 0", "state": "inactive"} for name in rules]
    answers = {
        "alerts": success({"alerts": [*alerts]}),
        "rules": success({"groups": [{"name": "g", "interval": 15, "rules": listed}]}),
        "query": success({"resultType": "vector", "result": []}),
    }

    def answer(seen: Seen) -> Reply:
        return answers.get(route(seen), error(404, "not_found", "no such thing"))

    return answer


# ---- to the end


def test_what_fires_becomes_a_verified_report_and_a_folder_that_replays(cli: Cli, backend: RecordedBackend) -> None:
    sources = ["--prometheus", backend.prometheus_url, "--loki", backend.loki_url]

    ran = cli.run("try", *sources, "--keep", "kept")

    assert ran.code == Exit.ANSWERED, ran.err
    assert ran.words[:4] == ["starting", "fires", "database", "accepted"]
    assert {"plan", "gathered", "diagnosis", "report", "ended"} <= {*ran.words}
    assert "\n# Incident report: `CheckoutErrorRatioHigh` of `checkout`" in ran.out
    folder = Path(ran.out.rsplit("inquest verify ", 1)[1].strip())
    assert folder.parent.parent == cli.folder / "kept" / "reports"
    assert cli.run("verify", str(folder)).code == Exit.ANSWERED
    cli.set(HOME=str(cli.folder / "kept"))
    assert cli.run("replay", folder.parent.name, "--json").json["equal"] is True
    assert cli.run("config", "check", "--config", "kept/inquest.yaml").code == Exit.ANSWERED


def test_with_json_there_is_one_object_and_a_temporary_folder_keeps_the_report_alone(
    cli: Cli, backend: RecordedBackend
) -> None:
    ran = cli.run("try", "--prometheus", backend.prometheus_url, "--json")

    folder = Path(ran.json["folder"])
    assert (ran.code, ran.json["status"], ran.json["others"]) == (Exit.ANSWERED, "succeeded", [])
    assert (
        json.loads((folder / "report.json").read_bytes())["report"]["facts"]["alert_name"] == "CheckoutErrorRatioHigh"
    )
    home = folder.parents[2]
    assert not (home / "postgres").exists()
    assert not (cli.folder / "home").exists()


def test_the_same_alert_is_investigated_again_in_the_same_folder(cli: Cli, backend: RecordedBackend) -> None:
    options = ["try", "--prometheus", backend.prometheus_url, "--keep", "kept", "--json"]

    first, second = cli.run(*options).json, cli.run(*options).json

    assert first["id"] != second["id"]
    assert (first["verdict"], second["verdict"]) == ("cause_found", "cause_found")


# ---- nothing to investigate


def test_nothing_fires_is_said_with_what_is_there_and_ends_well(cli: Cli) -> None:
    beat = alert("firing", alertname="Watchdog", severity="none")
    with serving(telling(alert("pending", alertname="Slow"), beat)) as fake:
        ran = cli.run("try", "--prometheus", fake.url)
        as_json = cli.run("try", "--prometheus", fake.url, "--json")

    assert (ran.code, as_json.code) == (Exit.ANSWERED, Exit.ANSWERED)
    said = ran.out.splitlines()[1:]
    assert said[0].startswith("Nothing fires at ")
    assert said[1:] == [
        "pending:", "  Slow since 2026-03-01 09:00:00 UTC", "heartbeats:", "  Watchdog since 2026-03-01 09:00:00 UTC",
        "alerting rules:", "  Down inactive", "  Slow inactive",
    ]  # fmt: skip
    found = as_json.json
    assert (found["firing"], found["pending"], found["heartbeats"]) == ([], ["Slow"], ["Watchdog"])
    assert found["rules"] == ["Down", "Slow"]


def test_of_a_past_moment_it_is_said_that_nothing_fired_and_what_did_near_it(cli: Cli) -> None:
    moments: list[Json] = [[1_772_355_600, "1"]]  # 2026-03-01 09:00:00 UTC
    around: list[Json] = [{"metric": {"alertname": "Down"}, "values": moments}]

    def told(*near: Json) -> list[str]:
        def answer(seen: Seen) -> Reply:
            if route(seen) == "query_range":
                return success({"resultType": "matrix", "result": [*near]})
            reply = telling(rules=("Down",))(seen)
            assert isinstance(reply, Reply)
            return reply

        with serving(answer) as fake:
            return cli.run("try", "--prometheus", fake.url, "--at", "2026-03-01T10:00:00Z").out.splitlines()[1:]

    assert told(*around) == [
        "Nothing fired at 2026-03-01 10:00:00 UTC: there is nothing to investigate.",
        "fired within 6 hours of it (choose such a moment by --at):", "  Down at 2026-03-01T09:00:00.000Z",
        "alerting rules:", "  Down inactive now",
    ]  # fmt: skip
    assert "nothing fired within 6 hours of it" in told()


def test_a_command_to_type_next_is_called_as_this_one_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = tmp_path / "inquest"
    typed.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(typed)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert typed_as() == str(typed)

    monkeypatch.setenv("PATH", str(tmp_path))
    assert typed_as() == "inquest"
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/pytest"])
    assert typed_as() == "inquest"


def test_what_fires_beside_it_is_listed_with_how_to_choose_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "open_home", never)
    fires = [
        alert("firing"),
        alert("firing", service="it's") | {"activeAt": "2026-03-01T09:30:00Z"},
        alert("firing", alertname="\x1b[2JSlow", severity="info"),
    ]
    with serving(telling(*fires)) as fake:
        ran = cli.run("try", "--prometheus", fake.url)

    lines = [line[11:] for line in ran.out.splitlines()[1:]]
    assert lines[0].startswith('fires      Down{service="checkout"} (critical) since 2026-03-01 09:00:00 UTC')
    assert lines[1].startswith('also       Down{service="it\'s"} (critical) since ')
    assert lines[3] == (
        f"choose     another: inquest try --prometheus {fake.url} --alert 'Down{{service=\"it'\"'\"'s\"}}'"
    )
    assert "\x1b" not in ran.out
    assert ran.code == Exit.INTERRUPTED


# ---- what is not taken


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--alert", "Dwn"], "--alert: there is no rule Dwn; did you mean Down?; what fires: nothing"),
        (["--at", "tomorrow"], "--at: 'tomorrow' is no moment"),
        (["--token-env", "UNSET_ANYWHERE"], "--token-env: the variable UNSET_ANYWHERE is not set or empty"),
        (["--loki", "loki:3100"], "--loki: write http(s)://host[:port][/path]"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(cli: Cli, options: list[str], told: str) -> None:
    with serving(telling()) as fake:
        ran = cli.run("try", "--prometheus", fake.url, *options)

    assert ran.code == Exit.USAGE
    assert ran.err.startswith(told)
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (Reply(200, b"<html>", {"Content-Type": "text/html"}), Exit.USAGE),
        (Reply(302, b"", {"Location": "https://login.example.com"}), Exit.USAGE),
        (Reply(401, b""), Exit.USAGE),
        (Reply(503, b""), Exit.FAILED),
    ],
    ids=["a web page", "a redirect", "401", "503"],
)
def test_what_is_no_prometheus_is_one_line_and_starts_nothing(cli: Cli, act: Act, code: Exit) -> None:
    with serving(lambda _: act) as fake:
        ran = cli.run("try", "--prometheus", fake.url, "--keep", "kept")

    assert ran.code == code
    assert ran.err.startswith(f"--prometheus {fake.url}: asked for GET /api/v1/alerts: ")
    assert len(ran.err.splitlines()) == 1
    assert not (cli.folder / "kept").exists()


def test_nobody_listens_there_is_one_line(cli: Cli) -> None:
    ran = cli.run("try", "--prometheus", "http://127.0.0.1:9")

    assert (ran.code, len(ran.err.splitlines())) == (Exit.FAILED, 1)
    assert ran.err.startswith("--prometheus http://127.0.0.1:9: asked for GET /api/v1/alerts: the source refuses")


def test_a_password_in_the_url_is_refused_and_not_repeated(cli: Cli) -> None:
    ran = cli.run("try", "--prometheus", f"http://ana:{SECRET}@127.0.0.1:9")

    assert ran.code == Exit.USAGE
    assert SECRET not in ran.out + ran.err


def test_beside_a_service_it_refuses_to_guess(cli: Cli) -> None:
    cli.set(URL="http://127.0.0.1:8417")

    ran = cli.run("try", "--prometheus", "http://127.0.0.1:9")

    assert (ran.code, ran.err.partition(":")[0]) == (Exit.USAGE, "INQUEST_URL")
    assert "unset INQUEST_URL" in ran.err


# ---- who investigates


def test_a_model_of_the_environment_is_asked(cli: Cli, backend: RecordedBackend) -> None:
    """Nobody answers where it is said to be: the run ends degraded, having named it."""
    cli.set(
        MODEL="scripted", MODEL_BASE_URL="http://127.0.0.1:9/v1", MODEL_PRICE="1/2", MODEL_CONTEXT_WINDOW_TOKENS="64000"
    )
    cli.set(MODEL_API_KEY=SECRET)

    ran = cli.run("try", "--prometheus", backend.prometheus_url, "--keep", "kept")

    assert ran.code == Exit.DEGRADED, ran.err
    assert "asked: scripted" in ran.out
    kept = [one.read_bytes() for one in (cli.folder / "kept").rglob("*") if one.is_file()]
    assert not any(SECRET.encode() in written for written in kept)
    assert SECRET not in ran.out + ran.err
    assert '"api_key_env": "INQUEST_MODEL_API_KEY"' in (cli.folder / "kept" / "inquest.yaml").read_text()


def test_a_model_that_nobody_knows_the_price_of_is_refused_before_anything_is_taken_in(
    cli: Cli, backend: RecordedBackend
) -> None:
    cli.set(MODEL="scripted", MODEL_BASE_URL="http://127.0.0.1:9/v1", MODEL_CONTEXT_WINDOW_TOKENS="64000")

    ran = cli.run("try", "--prometheus", backend.prometheus_url)

    assert (ran.code, ran.err.partition(":")[0]) == (Exit.USAGE, "INQUEST_MODEL_PRICE")
