"""Every command that a page has its reader type, and how CI runs it: the one table of `test_typed.py`.

A page that shows a new command adds a row here, or its test fails. The key is the command as the page shows it, less the
prompt and a comment at its end. Rows run in this order, all in one folder of a reader's: `house.py` says what is in it.
What stands in a command for something of the reader's own is in SUBSTITUTES, once for all pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Why(Enum):
    """The closed list of reasons for which a command is not run."""

    NO_CONTAINER_ENGINE = "it needs a container engine, and none runs where this is tested"


@dataclass(frozen=True)
class Run:
    """Typed to its end. `says` is in what it prints; `before` are the lines of its page that it rests on."""

    says: str = ""
    exits: int = 0
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Serve:
    """Typed, and ended once it `says` that it is ready. Where it listens is a free port."""

    says: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepare:
    """Typed before the service is started: it makes a file that the service is told of."""


@dataclass(frozen=True)
class Start:
    """The command by which the house itself is started."""


@dataclass(frozen=True)
class Elsewhere:
    """What runs it: a test, as FILE::NAME, or a script that holds the line."""

    where: str


@dataclass(frozen=True)
class Never:
    """Not run at all."""

    why: Why


How = Run | Serve | Prepare | Start | Elsewhere | Never

POSTGRES = (
    "export INQUEST_DATABASE_URL=postgresql://inquest:...@db.example.com/inquest",
    "export INQUEST_KEY_FILE=/etc/inquest/inquest.key",
    "export INQUEST_CONFIG=/etc/inquest/inquest.yaml",
)
DATADOG_TEST = (
    'curl -sS https://inquest.example.com/v1/alerts/datadog -H "X-Inquest-Token: $(cat datadog-token.txt)" '
    '-d \'{"alert_title": "InquestTest", "alert_id": "1", "alert_transition": "Triggered", "tags": "service:inquest"}\''
)
REPORT, REPORT_KEY = (
    "reports/01a22ddeb4fd7d2db9e02bc9daf04e96",
    "987d2437b670fcc5a6cc6b241a176026348a8f6dda3c95546cc8bf3d3eaa9ebe",
)
ANSWERED = Elsewhere(
    "tests/entrypoints/cli/test_answering.py::test_the_open_question_is_answered_and_a_second_answer_is_refused"
)
ANSWERED_OVER_HTTP = Elsewhere(
    "tests/entrypoints/http/test_answering.py::"
    "test_an_investigation_that_waits_shows_its_question_and_goes_on_with_the_answer"
)
ANSWER = (
    "curl -sS -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' "
    '-d \'{"interrupt_id": "ID-q1", "answer": "payments-eu"}\' http://127.0.0.1:8417/v1/investigations/ID/answer'
)
DEMO = Elsewhere("tests/e2e/test_demo.py::test_the_demo_finds_the_recorded_cause_and_talks_to_this_machine_only")
SEEDS = Elsewhere("tests/e2e/test_demo_seeds.py::test_a_variation_is_diagnosed_right_and_its_report_verifies")
TRYING = Elsewhere(
    "tests/entrypoints/cli/test_trying.py::test_what_fires_becomes_a_verified_report_and_a_folder_that_replays"
)
LIBRARY = Elsewhere(
    "tests/docs/test_library_example.py::test_the_example_comes_to_its_ends_and_asked_again_asks_nobody"
)

TRY_NOW = Elsewhere(
    "tests/e2e/test_try.py::test_what_fires_or_fired_there_gets_a_verified_report_and_only_reads_are_sent"
)
SHARED, OTHER = "0198c0de00000000000000000000cafe", "0198c0de00000000000000000000beef"
SHARED_KEY = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
EVENTS = (
    "curl -N -H 'Accept: text/event-stream' -H \"Authorization: Bearer $TOKEN\" "
    "http://127.0.0.1:8417/v1/investigations/ID/events"
)
TRY_A_GUARDED = ".venv/bin/inquest try --prometheus https://prometheus.example.com"

TYPED: dict[str, How] = {
    "make demo": DEMO,
    "make test": Elsewhere(".ci/run"),
    "inquest demo --seed 7": SEEDS,
    ".venv/bin/python docs/examples/in_memory_host.py": LIBRARY,
    ".venv/bin/inquest try --prometheus http://127.0.0.1:9090": TRY_NOW,
    "INQUEST_HOME=FOLDER inquest replay ID": TRYING,
    "inquest config check --config FOLDER/inquest.yaml": TRYING,
    # ---- what a reader makes first
    "(umask 077; openssl rand -hex 32 > intake-token.txt)": Prepare(),
    "(umask 077; openssl rand -hex 32 > datadog-token.txt)": Prepare(),
    "(umask 077; openssl rand -hex 32 > inquest.key)": Prepare(),
    ".venv/bin/inquest up": Start(),
    # ---- the configuration
    ".venv/bin/inquest config check": Run(says="no problems"),
    "inquest config check": Run(says="no problems"),
    "amtool check-config alertmanager.yml": Run(says="SUCCESS"),
    # ---- a post of each sender, that is taken for a test
    "amtool --alertmanager.url=http://127.0.0.1:9093 alert add alertname=InquestTest severity=info": Run(),
    DATADOG_TEST: Run(says='"opened":1'),
    "inquest list": Run(says="InquestTest"),
    "inquest show 01a22de0c4217124a7e97ed0171ecdb9": Run(says="ended as noise, without a report"),
    # ---- a report
    "inquest show ID": Run(says="# Incident report"),
    'inquest answer ID "payments-eu: its traffic was moved at 10:20"': ANSWERED,
    ANSWER: ANSWERED_OVER_HTTP,
    f"ls {REPORT}": Run(says="latest"),
    f"cat {REPORT}/latest": Run(says="r3"),
    f"inquest verify {REPORT}": Run(says="verified"),
    f"inquest verify --key {REPORT_KEY} {REPORT}": Run(says="verified"),
    "inquest verify 01a22ddeb4fd7d2db9e02bc9daf04e96": Run(says="verified"),
    ".venv/bin/inquest verify reports/ID": Run(says="verified"),
    "inquest verify FOLDER": Run(says="verified"),
    "inquest verify --key HEX FOLDER": Run(says="verified"),
    "inquest replay ID": Run(),
    EVENTS: Run(says="event: run_succeeded"),
    # ---- a report for somebody else
    f"inquest export {SHARED} -o checkout.tar": Run(says="checkout.tar"),
    f"grep -o '\"public_key\":\"[0-9a-f]*\"' reports/{SHARED}/r1/manifest.json": Run(says="public_key"),
    f"inquest verify checkout.tar --key {SHARED_KEY}": Run(says="verified"),
    "inquest replay checkout.tar": Run(),
    f"inquest compare checkout.tar {OTHER}": Run(),
    f"inquest export {SHARED} --postmortem -o checkout.md": Run(says="checkout.md"),
    # ---- a Prometheus that wants to know who asks, at which nothing fires
    f"{TRY_A_GUARDED} --token-env PROMETHEUS_TOKEN": Run(says="Nothing fires"),
    f"{TRY_A_GUARDED} --username ana --password-file password.txt": Run(says="Nothing fires"),
    ".venv/bin/inquest try --prometheus https://mimir.example.com/prometheus --headers-file headers.txt "
    "--ca-file our-ca.pem": Run(says="Nothing fires"),
    # ---- a Postgres of one's own
    "inquest migrate": Run(says="the database is at version", before=POSTGRES),
    "inquest serve": Serve(says="serving", before=POSTGRES),
    "inquest work": Serve(says="worker_started", before=POSTGRES),
    "INQUEST_WORKER_METRICS_PORT=8418 .venv/bin/inquest up": Serve(says="worker_started"),
    # ---- containers
    "openssl rand -hex 24 > postgres-password.txt": Prepare(),
    "openssl rand -hex 32 > operator-token.txt": Prepare(),
    "openssl rand -hex 32 > intake-token.txt": Prepare(),
    "docker compose up --build": Never(Why.NO_CONTAINER_ENGINE),
    "docker compose exec inquest inquest config check": Never(Why.NO_CONTAINER_ENGINE),
    "docker compose exec inquest inquest list": Never(Why.NO_CONTAINER_ENGINE),
    "docker compose cp inquest:/var/lib/inquest/reports reports": Never(Why.NO_CONTAINER_ENGINE),
    # ---- the recorded incident as a server
    ".venv/bin/python -m inquest.scenarios.server checkout_pool --port 9900 --journal requests.jsonl": Serve(says="prometheus"),
}  # fmt: skip
"""Every command of the pages but those of the tutorials, whose own tests run their blocks by title."""

ID, NOISE, KEY = "the investigation", "the test's investigation", "the public key"
GUARDED, GUARDED_TLS = "a Prometheus that asks for credentials", "the same by TLS"
SERVICE, ALERTMANAGER, FREE_PORT, DATABASE, FOLDER, REPORTS = (
    "the service",
    "Alertmanager",
    "a free port",
    "a database",
    "the folder",
    "the report's folder",
)
SUBSTITUTES: tuple[tuple[str, str], ...] = (
    (r"\b01a22de0c4217124a7e97ed0171ecdb9\b", NOISE),
    (r"\b(?:01a2|0198)[0-9a-f]{28}\b|\bID\b", ID),
    (r"\b[0-9a-f]{64}\b|\bHEX\b", KEY),
    (r"\bFOLDER\b", REPORTS),
    (r"https://inquest\.example\.com|http://127\.0\.0\.1:8417", SERVICE),
    (r"http://127\.0\.0\.1:9093", ALERTMANAGER),
    (r"https://prometheus\.example\.com", GUARDED),
    (r"https://mimir\.example\.com", GUARDED_TLS),
    (r"(?<=--port )9900\b|(?<=_PORT=)8418\b", FREE_PORT),
    (r"postgresql://\S+", DATABASE),
    (r"/etc/inquest", FOLDER),
)
"""What stands in a command, as an expression, and what the house puts in its place."""
