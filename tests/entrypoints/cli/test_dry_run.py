"""--dry-run: says what would be asked, of whom, at what cost, as it then is; and asks nobody."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from inquest.entrypoints.cli.exits import Exit
from inquest.scenarios.server import RecordedBackend
from tests.entrypoints.cli.running import Cli
from tests.entrypoints.cli.test_investigate import alert, post
from tests.fakes.connections import watch_connections

SECRET = "hunter2hunter2"
MODEL = {
    "names": ["big", "small"], "base_url": "http://models.example.com:8080/v1", "api_key_env": "MODEL_KEY",
    "context_window_tokens": 32_000, "price": {"input_usd": 3, "output_usd": 15},
}  # fmt: skip
SLACK = {"type": "slack", "channel": "C0123456789", "token_env": "SLACK_TOKEN"}


@pytest.fixture
def equipped(cli: Cli, backend: RecordedBackend, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give a command line whose configuration has a model, a Loki and a Slack; no database."""
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.setenv("SLACK_TOKEN", SECRET)
    cli.configure(
        backend.prometheus_url,
        integrations={
            "prometheus": {"type": "prometheus", "url": backend.prometheus_url},
            "logs": {"type": "loki", "url": backend.loki_url},
        },
        destinations={"reports": {"type": "folder", "path": "reports"}, "chat": SLACK},
        model=MODEL,
    )
    (cli.folder / "alert.json").write_bytes(backend.alert)
    return cli


def test_what_is_foreseen_is_what_then_happens(after_it: Cli) -> None:
    """The journal of the same alert's investigation has the hypotheses, tools and calls that were foretold."""
    *_, kept = after_it.run("list", "--json").json["investigations"]
    foreseen = after_it.run("investigate", "alert.json", "--dry-run", "--json").json
    events = after_it.run("show", kept["id"], "--follow", "--json").lines[:-1]
    (plan,) = [event["body"]["plan"] for event in events if event["body"]["kind"] == "plan_committed"]
    (facts,) = [
        event["body"]["update"]["facts"]
        for event in events
        if event["body"].get("update", {}).get("stage") == "extract_alert"
    ]

    assert foreseen["hypotheses"] == plan["hypotheses"]
    assert [one["name"] for one in foreseen["tools"]] == [one["name"] for one in plan["tools"]]
    seeds = [(one["query"]["tool"], one["query"]["arguments"]["expression"]) for one in plan["seeds"][:2]]
    assert [(one["tool"], one["expression"]) for one in foreseen["calls"][:2]] == seeds
    assert len(foreseen["calls"]) == len(plan["seeds"])
    assert len(foreseen["calls"]) + foreseen["further_calls"] == plan["budget"]["max_connector_effects"]
    assert {**foreseen["facts"], "window": None} == {**facts, "window": None}
    assert foreseen["facts"]["window"]["anchor"] == facts["window"]["anchor"]


def test_nobody_is_asked_and_nothing_is_written(equipped: Cli, backend: RecordedBackend) -> None:
    before, there = len(backend.journal), _files(equipped.folder)

    with watch_connections() as made:
        ran = equipped.run("investigate", "alert.json", "--dry-run")
        tried = equipped.run("try", "--prometheus", backend.prometheus_url, "--loki", backend.loki_url, "--dry-run")

    assert (ran.code, ran.err, tried.code, tried.err) == (Exit.ANSWERED, "", Exit.ANSWERED, "")
    assert (made.opened, made.resolved) == ([], [])
    assert len(backend.journal) == before
    assert _files(equipped.folder) == there
    assert SECRET not in ran.out + tried.out


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_it_names_hosts_expressions_ranges_budgets_and_cost(equipped: Cli, backend: RecordedBackend) -> None:
    ran = equipped.run("investigate", "alert.json", "--dry-run")
    found = equipped.run("investigate", "alert.json", "--dry-run", "--json").json

    host = backend.prometheus_url.split("/")[2]
    first = found["calls"][0]
    assert (first["integration"], first["host"], first["max_bytes"]) == ("prometheus", host, 65_536)
    assert first["expression"] in ran.out
    window = found["facts"]["window"]
    assert (first["start"], first["end"]) == (window["incident"]["start"], window["incident"]["end"])
    assert {one["integration"] for one in found["calls"]} == {"prometheus", "logs"}
    assert found["model"] == {
        "names": ["big", "small"],
        "hosts": ["models.example.com:8080"],
        "worst": {"requests": 24, "tokens": 400_000, "usd_micros": 2_000_000},
    }
    assert [one["where"] for one in found["deliveries"]] == [
        f"{equipped.folder}/reports/ID", "channel C0123456789 at slack.com",
    ]  # fmt: skip
    for words in (
        "at the worst  24 requests, 400,000 tokens, 2.0000 USD",
        "C0123456789 at slack.com",
        "h1 ",
        "baseline",
    ):
        assert words in ran.out


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("not JSON", "body.json: not understood as a post of alertmanager: "),
        (post(alert("Watchdog")), "body.json: opens no investigation: none of its alerts fires, heartbeats apart"),
        (post(alert("High", "resolved")), "body.json: opens no investigation: "),
    ],
    ids=["no JSON", "a heartbeat", "resolved"],
)
def test_a_body_that_would_open_nothing_says_why(equipped: Cli, body: str, told: str) -> None:
    equipped.write("body.json", body)

    ran = equipped.run("investigate", "body.json", "--dry-run")

    assert (ran.code, len(ran.err.splitlines())) == (Exit.USAGE, 1)
    assert ran.err.startswith(told)


def test_noise_is_foreseen_to_ask_nothing(equipped: Cli) -> None:
    equipped.write("noise.json", post(alert("InquestTest")))

    found = equipped.run("investigate", "noise.json", "--dry-run", "--json").json

    assert (found["facts"]["noise"], found["calls"], found["further_calls"]) == ("a test notification", [], 0)
    assert "it ends at once, and nothing is asked" in equipped.run("investigate", "noise.json", "--dry-run").out


def test_several_groups_of_a_post_are_counted(equipped: Cli) -> None:
    several = [alert("One"), alert("Two"), alert("Three"), alert("Watchdog")]
    equipped.write("several.json", post(*several))

    assert equipped.run("investigate", "several.json", "--dry-run", "--json").json["further_groups"] == 2


def test_what_a_post_says_cannot_steer_the_terminal(equipped: Cli) -> None:
    equipped.write("hostile.json", post(alert("\x1b[2J\x1b]0;x\x07One")))

    ran = equipped.run("investigate", "hostile.json", "--dry-run")

    assert (ran.code, "\x1b" in ran.out, "\x07" in ran.out) == (Exit.ANSWERED, False, False)


def test_of_a_trial_what_only_asking_tells_is_said_to_be_so(cli: Cli) -> None:
    ran = cli.run(
        "try", "--prometheus", "http://127.0.0.1:9", "--at", "2h ago", "--alert", 'Down{service="cart"}', "--dry-run"
    )
    found = cli.run("try", "--prometheus", "http://127.0.0.1:9", "--dry-run", "--json").json

    assert "Known only when the Prometheus is asked, and written here as the_expression_of_its_rule." in ran.out
    assert "http://127.0.0.1:9: GET /api/v1/query_range: ALERTS of the alert since then" in ran.out
    assert "service     cart (by label)" in ran.out
    assert found["facts"]["alert_name"] == "the_alert_that_fires"
    assert [one["expression"] for one in found["calls"][:2]] == ["the_expression_of_its_rule"] * 2


def test_of_a_trial_the_folder_is_where_the_real_one_would_be(cli: Cli) -> None:
    asked = ["try", "--prometheus", "http://127.0.0.1:9", "--dry-run", "--json"]

    (kept,) = cli.run(*asked, "--keep", "kept").json["deliveries"]
    (other,) = cli.run(*asked).json["deliveries"]

    assert kept["where"] == f"{cli.folder}/kept/reports/ID"
    assert other["where"] == f"{tempfile.gettempdir()}/inquest-try-......../reports/ID"


def test_a_trial_with_a_model_says_what_it_may_cost(cli: Cli) -> None:
    cli.set(MODEL="big", MODEL_BASE_URL="http://models.example.com/v1", MODEL_PRICE="1/2")
    unknown = cli.run("try", "--prometheus", "http://127.0.0.1:9", "--dry-run")
    cli.set(MODEL_CONTEXT_WINDOW_TOKENS="8000")
    found = cli.run("try", "--prometheus", "http://127.0.0.1:9", "--dry-run", "--json").json

    assert (unknown.code, unknown.err.partition(":")[0]) == (Exit.USAGE, "INQUEST_MODEL_CONTEXT_WINDOW_TOKENS")
    assert found["model"]["hosts"] == ["models.example.com"]
    assert found["model"]["worst"] == {"requests": 24, "tokens": 290_304, "usd_micros": 388_608}


def test_beside_a_service_it_says_that_it_is_of_here(equipped: Cli) -> None:
    equipped.set(URL="http://127.0.0.1:8417")

    ran = equipped.run("investigate", "alert.json", "--dry-run")

    assert (ran.code, ran.err) == (
        Exit.USAGE,
        "--dry-run: says what would happen in this process, by the configuration here; unset INQUEST_URL\n",
    )


def test_a_wrong_option_is_told_without_asking(cli: Cli) -> None:
    ran = cli.run("try", "--prometheus", "http://127.0.0.1:9", "--at", "tomorrow", "--dry-run")

    assert (ran.code, ran.err[:5]) == (Exit.USAGE, "--at:")
