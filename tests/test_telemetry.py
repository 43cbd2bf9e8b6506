"""What leaves the process beside reports: logs, metrics and error reports, none of which quotes anything."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import sentry_sdk
from sentry_sdk.transport import Transport
from structlog.testing import capture_logs
from typing_extensions import override

from inquest import telemetry
from inquest.entrypoints.http.exposition import OF_THE_SERVICE, exposition

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "sk-test-CANARY-4242"


class Kept(Transport):
    """A transport that keeps the envelopes."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    @override
    def capture_envelope(self, envelope: Any) -> None:  # the SDK's own type
        self.sent.append(envelope.serialize())


@pytest.fixture
def kept() -> Iterator[Kept]:
    transport = Kept()
    assert telemetry.configure_sentry("http://key@127.0.0.1:9/1", release="inquest@test", transport=transport)
    yield transport
    sentry_sdk.get_client().close()
    sentry_sdk.init()


def _fail(api_key: str, prompt: str) -> None:
    local_header = {"authorization": api_key}
    raise ValueError(f"{prompt} {local_header}")


def test_an_error_report_holds_types_places_and_ids_but_no_text(kept: Kept) -> None:
    try:
        _fail(CANARY, f"tell me {CANARY}")
    except ValueError as error:
        telemetry.report_error(error, tags={"stage": "diagnose", "investigation": "a" * 32})

    (sent,) = kept.sent
    assert CANARY.encode() not in sent
    event = json.loads(sent.splitlines()[2])
    assert event["tags"] == {"stage": "diagnose", "investigation": "a" * 32}
    (raised,) = event["exception"]["values"]
    assert raised["type"] == "ValueError"
    assert raised["stacktrace"]["frames"][-1]["function"] == "_fail"
    assert set(raised["stacktrace"]["frames"][-1]) <= {"function", "module", "filename", "lineno", "in_app"}


def test_without_the_filter_the_same_report_would_quote_the_text(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sentry_sdk.get_client().options, "before_send", None)
    try:
        _fail(CANARY, f"tell me {CANARY}")
    except ValueError as error:
        telemetry.report_error(error, tags={})

    assert CANARY.encode() in kept.sent[0]


def test_the_product_starts_without_the_error_report_sdk() -> None:
    code = (
        "import sys; sys.modules['sentry_sdk'] = None\n"
        "from inquest import telemetry\n"
        "assert telemetry.configure_sentry('http://key@127.0.0.1:9/1', release='x') is False\n"
        "telemetry.report_error(ValueError('x'), tags={})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


def test_a_log_line_is_one_line_whatever_its_fields_hold(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure_logging(fmt="json", level="info")
    with telemetry.bound(investigation="abc"):
        telemetry.log().info("post_refused", path="/a\r\nfake: line\x1b[2J\u2028x")

    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["investigation"] == "abc"
    assert "\x1b" not in line


def test_a_librarys_own_words_do_not_reach_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure_logging(fmt="json", level="info")
    logging.getLogger("LiteLLM").warning("request with key %s", CANARY)

    line = capsys.readouterr().err
    assert CANARY not in line
    assert json.loads(line)["logger"] == "LiteLLM"


def test_of_a_librarys_error_the_type_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure_logging(fmt="json", level="info")
    try:
        dict[str, str]()[CANARY]
    except KeyError:
        logging.getLogger("a.library").exception("it broke")

    line = capsys.readouterr().err
    assert CANARY not in line
    assert json.loads(line)["error"] == "KeyError"


def test_metrics_are_served_in_the_text_format() -> None:
    metrics = telemetry.create_metrics()
    metrics.posts.labels("am", "202").inc()

    assert b'inquest_intake_posts_total{code="202",intake="am"} 1.0' in exposition(metrics, OF_THE_SERVICE)


def test_a_host_that_has_not_set_logs_up_hears_warnings_only_and_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.log().info("stage_started")
    telemetry.log().warning("connector_bug", connector="prometheus")

    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert {name: json.loads(line)[name] for name in ("event", "level", "connector")} == {
        "event": "connector_bug",
        "level": "warning",
        "connector": "prometheus",
    }


class SteppedClock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_trouble_that_goes_on_is_said_when_it_begins_once_a_minute_and_when_it_is_over() -> None:
    clock = SteppedClock()
    trouble = telemetry.Recurring("away", over="back", clock=clock)
    with capture_logs() as lines:
        trouble.passed()
        for _ in range(300):
            trouble.happened(seen_by="sweep")
            trouble.passed()
            clock.now += 0.5
        clock.now += telemetry.STEADY_S
        trouble.passed()
        trouble.passed()
        trouble.happened(seen_by="lease")

    said = [(line["event"], line["times"]) for line in lines]
    assert said == [("away", 1), ("away", 120), ("away", 120), ("back", 59), ("away", 1)]


def test_a_library_that_says_one_thing_again_and_again_is_written_once_a_minute() -> None:
    clock = SteppedClock()
    filtered = telemetry._Repetitions(clock)
    written = []
    for number in range(121):
        for line in (1, 2):
            record = logging.LogRecord("psycopg.pool", logging.WARNING, "pool.py", line, "no connection", (), None)
            if filtered.filter(record):
                written.append((number, line, record.__dict__["times"]))
        clock.now += 1.0

    assert written == [(0, 1, 1), (0, 2, 1), (60, 1, 60), (60, 2, 60), (120, 1, 60), (120, 2, 60)]
