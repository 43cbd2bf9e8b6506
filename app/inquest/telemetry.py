"""Logs, metrics and error reports: their set-up, and the name of every metric.

Logs are JSON, one event a line, with a static event name and identifiers as fields. Nothing here ever
carries an alert's text, a prompt, an answer or a credential.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from typing_extensions import override

from inquest.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

QUIET_LOGGERS = (
    "LiteLLM", "httpx", "httpx2", "httpcore", "openai", "procrastinate", "sqlalchemy", "alembic", "slack_sdk", "aiohttp",
    "gitlab", "urllib3",
)  # fmt: skip
"""Libraries whose debug lines hold prompts, answers or URLs: never below WARNING."""

REMIND_S = 60.0
"""Of trouble that goes on, and of a library's line, one line in so long."""
STEADY_S = 5.0
"""Trouble that did not come for so long is over."""
LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


# ---- logs ----------------------------------------------------------------------------------------------


def configure_logging(*, fmt: str, level: str) -> None:
    """Send structlog and the standard library's warnings to stderr as `fmt` ("json" or "console")."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if fmt == "console"
        else structlog.processors.JSONRenderer(ensure_ascii=True)
    )
    structlog.configure(
        processors=[*_shared_processors(), renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[_drop_foreign_text, renderer]))
    handler.addFilter(_Repetitions())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


class Recurring:
    """Trouble that comes again and again: said when it begins, then once a minute with how often, and when it is over.

    For a thing of which hundreds of lines a minute would say the same. Threads may share one.
    """

    def __init__(self, event: str, *, over: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """`event` and `over` are names of events; without `over` its end is not said."""
        self._event = event
        self._over = over
        self._clock = clock
        self._lock = threading.Lock()
        self._times = 0
        self._said_at: float | None = None
        self._last_at = 0.0

    def happened(self, **fields: str) -> None:
        """Count it, and say it when it is new or REMIND_S have passed."""
        with self._lock:
            self._times += 1
            self._last_at = now = self._clock()
            if self._said_at is not None and now - self._said_at < REMIND_S:
                return
            times, self._times, self._said_at = self._times, 0, now
        log().warning(self._event, times=times, **fields)

    def passed(self) -> None:
        """Say that it is over, once, when it has not happened for STEADY_S."""
        with self._lock:
            if self._said_at is None or self._clock() - self._last_at < STEADY_S:
                return
            times, self._times, self._said_at = self._times, 0, None
        if self._over:
            log().info(self._over, times=times)


class _Repetitions(logging.Filter):
    """Lets a library's line at one place in its code through once a minute: it is said again with how often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether `record` is written; it then carries how many times it came since it last was."""
        place, now = (record.pathname, record.lineno), self._clock()
        said_at, unsaid = self._seen.get(place, (now - REMIND_S, 0))
        is_said = now - said_at >= REMIND_S
        self._seen[place] = (now, 0) if is_said else (said_at, unsaid + 1)
        record.times = unsaid + 1
        return is_said


def _shared_processors() -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _drop_foreign_text(_logger: object, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Keep of a library's record its logger, level and place: its text may quote what passed through it."""
    record = event.get("_record")
    if record is None:
        return event
    raised = event.get("exc_info")  # the record itself has lost it by now
    return {
        "event": "library_log",
        "logger": record.name,
        "level": record.levelname.lower(),
        "at": f"{record.filename}:{record.lineno}",
        "times": getattr(record, "times", 1),
        "error": raised[0].__name__ if raised and raised[0] else None,
    }


def log() -> Any:  # noqa: ANN401  # structlog's own type
    """Give the logger; context is bound with `bound`.

    In a host that has not set structlog up, warnings go to stderr and the rest nowhere: a library does not talk.
    """
    if structlog.is_configured():
        return structlog.get_logger()
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[*_shared_processors(), structlog.processors.JSONRenderer(ensure_ascii=True)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    )


def bound(**fields: str | int) -> Any:  # noqa: ANN401  # structlog's own context manager
    """Bind `fields` to every line logged inside the `with` (investigation, stage, workspace)."""
    return structlog.contextvars.bound_contextvars(**fields)


# ---- metrics -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metrics:
    """Every metric of one process. Label values come from closed sets only."""

    registry: CollectorRegistry
    posts: Counter
    members: Counter
    backpressure: Counter
    accept_seconds: Histogram
    investigations: Counter
    stage_errors: Counter
    effects: Counter
    repeated_dispatches: Counter
    abandoned_effects: Counter
    late_outcomes: Counter
    questions: Counter
    deliveries: Counter
    running: Gauge
    queued: Gauge
    oldest_queued_seconds: Gauge
    halted: Gauge
    removed: Counter
    watchdog_missing: Gauge
    database_up: Gauge


def create_metrics() -> Metrics:
    """Build the metrics on a registry of their own, so that tests and processes do not share one."""
    registry = CollectorRegistry()

    def counter(name: str, about: str, *labels: str) -> Counter:
        return Counter(f"inquest_{name}", about, labels, registry=registry)

    def gauge(name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"inquest_{name}", about, labels, registry=registry)

    return Metrics(
        registry=registry,
        posts=counter("intake_posts", "Posts answered, by status code.", "intake", "code"),
        members=counter("intake_members", "Members accounted for, by the words of the equation.", "intake", "word"),
        backpressure=counter("intake_backpressure", "Posts refused with 503, by reason.", "reason"),
        accept_seconds=Histogram(
            "inquest_accept_seconds", "From the last byte read to the commit.", buckets=LATENCY_BUCKETS, registry=registry
        ),
        investigations=counter("investigations", "Investigations ended, by status and stop reason.", "status", "stop_reason"),
        stage_errors=counter("stage_errors", "Stages that raised.", "stage"),
        effects=counter("effects", "Effects performed, by kind and outcome (ok, partial, a failure code).", "kind", "outcome"),
        repeated_dispatches=counter("repeated_dispatches", "Effects dispatched again after an owner died."),
        abandoned_effects=counter("abandoned_effects", "Reservations whose request changed and were taken anew."),
        late_outcomes=counter("late_outcomes", "Outcomes refused because their owner had lost its fence."),
        questions=counter("questions", "Questions to a human, by outcome (asked, answered, expired).", "outcome"),
        deliveries=counter("deliveries", "Deliveries ended, by destination type and state.", "type", "state"),
        running=gauge("running", "Investigations with a live lease, by workspace.", "workspace"),
        queued=gauge("queued", "Investigations waiting for room, by workspace.", "workspace"),
        oldest_queued_seconds=gauge("oldest_queued_seconds", "Age of the oldest queued investigation."),
        halted=gauge("halted", "1 while an operator has halted it, alone or with everything.", "workspace"),
        removed=counter("removed", "Rows that retention removed, by kind.", "kind"),
        watchdog_missing=gauge("watchdog_missing", "1 when an intake's Watchdog has not been heard in time.", "intake"),
        database_up=gauge("database_up", "1 when the database answered the last scrape of the service."),
    )  # fmt: skip


# ---- error reports -------------------------------------------------------------------------------------

FLUSH_S = 2.0
_SENTRY_KEPT = frozenset({"event_id", "timestamp", "level", "platform", "release", "environment", "exception", "tags"})
_FRAME_KEPT = frozenset({"function", "module", "filename", "lineno", "in_app"})


def configure_sentry(dsn: str | None, *, release: str, transport: Any = None) -> bool:  # noqa: ANN401  # the SDK's own type
    """Turn error reports on when `dsn` is set and sentry-sdk is installed; say whether they are.

    No frame locals, source lines, request bodies, breadcrumbs, personal data or exception texts are sent:
    only types, places in the code, the stage and our own ids. Raises ConfigurationError for a DSN that is none.
    """
    if not dsn:
        return False
    try:
        sentry = importlib.import_module("sentry_sdk")
    except ImportError:
        log().warning("sentry_sdk_missing")
        return False
    try:
        sentry.init(
            dsn=dsn,
            release=release,
            transport=transport,
            include_local_variables=False,
            include_source_context=False,
            # personal data stays off by default; naming the option only warns
            max_request_body_size="never",
            max_breadcrumbs=0,
            auto_enabling_integrations=False,
            default_integrations=False,
            traces_sample_rate=0.0,
            before_send=_only_places,
        )
    except ValueError:  # BadDsn; its text repeats the DSN, which is a key
        msg = "INQUEST_SENTRY_DSN: this is no DSN, which looks like https://KEY@HOST/PROJECT"
        raise ConfigurationError(msg) from None
    return True


def flush_reports() -> None:
    """Wait a little for what was reported to be sent: the process is about to end."""
    sentry = sys.modules.get("sentry_sdk")
    if sentry is not None and sentry.is_initialized():
        sentry.flush(timeout=FLUSH_S)


def report_error(error: BaseException, *, tags: Mapping[str, str]) -> None:
    """Send `error` to Sentry when it is on. `tags` are ids and closed words (stage, investigation). Never raises."""
    sentry = sys.modules.get("sentry_sdk")
    if sentry is None or not sentry.is_initialized():
        return
    with sentry.new_scope() as scope:
        for name, value in tags.items():
            scope.set_tag(name, value)
        scope.capture_exception(error)


def _only_places(event: dict[str, Any], _hint: object) -> dict[str, Any]:
    kept = {name: value for name, value in event.items() if name in _SENTRY_KEPT}
    values = (kept.get("exception") or {}).get("values") or []
    kept["exception"] = {"values": [_place(value) for value in values]}
    return kept


def _place(value: dict[str, Any]) -> dict[str, Any]:
    frames = (value.get("stacktrace") or {}).get("frames") or []
    return {
        "type": value.get("type"),
        "module": value.get("module"),
        "stacktrace": {"frames": [{k: v for k, v in frame.items() if k in _FRAME_KEPT} for frame in frames]},
    }
