"""`inquest demo --seed N`: six variations of the incident, each story among them, are judged right by their truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inquest.domain.diagnosis import Verdict
from inquest.entrypoints.cli import demo as demo_command
from inquest.entrypoints.cli.exits import Exit
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.generate.stories import Story, story_of
from inquest.scenarios.pack.format import Scenario, Truth
from tests.e2e.servers import ROOT

pytestmark = pytest.mark.e2e

DEADLINE_S = 120.0
PACK = "checkout_pool"
SEEDS = (1, 2, 4, 5, 6, 12)
AT_ONCE = 2
"""Each run is a service, a worker and a Postgres; CI has two cores."""

Run = tuple[subprocess.CompletedProcess[str], Path]


def played(seed: int, folder: Path) -> Run:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INQUEST_")}
    asked = [sys.executable, "-m", "inquest", "demo", "--json", "--seed", str(seed), "--keep", str(folder)]
    said = subprocess.run(
        asked, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    return said, folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Run]]:
    """Play all variations, some at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        folders = {seed: tmp_path_factory.mktemp(f"seed-{seed}") for seed in SEEDS}
        yield dict(zip(SEEDS, pool.map(played, SEEDS, folders.values()), strict=True))


@pytest.fixture(scope="module")
def began() -> float:
    return time.monotonic()


def told(run: Run) -> dict[str, Any]:
    said = run[0]
    assert said.returncode == Exit.ANSWERED, said.stdout[-3000:] + said.stderr[-3000:]
    answer: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return answer


def diagnosis_of(run: Run) -> dict[str, Any]:
    report = json.loads((Path(told(run)["folder"]) / "report.json").read_bytes())["report"]
    diagnosis: dict[str, Any] = report["diagnosis"]
    return diagnosis


def truth_of(seed: int) -> Truth:
    return open_scenario(PACK, seed=seed).header.truth


def test_the_six_tell_every_story() -> None:
    assert {story_of(seed) for seed in SEEDS} == set(Story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_variation_is_diagnosed_right_and_its_report_verifies(
    began: float, runs: dict[int, Run], seed: int, say: Callable[[str], None]
) -> None:
    answer = told(runs[seed])

    say(f"seed {seed}: {answer['seconds']} s, {answer['requests']} requests ({time.monotonic() - began:.0f} s in all)")
    assert answer["wrong"] == []
    assert diagnosis_of(runs[seed])["verdict"] == truth_of(seed).verdict


def of(story: Story) -> list[int]:
    return [seed for seed in SEEDS if story_of(seed) is story]


@pytest.mark.parametrize("seed", of(Story.THEIR_RELEASE))
def test_where_the_red_herring_is_the_cause_it_is_blamed_and_the_own_release_is_not(
    runs: dict[int, Run], seed: int
) -> None:
    found, truth = diagnosis_of(runs[seed]), truth_of(seed)
    culprit = truth.affected_object.rsplit("/", 1)[-1]

    assert found["affected_object"].rsplit("/", 1)[-1] == culprit
    assert truth.culprit_change in json.dumps(found["validated_claims"])
    harmless = [one.what for one in truth.red_herrings if one.what.startswith("deployment of")]
    assert [one["hypothesis"] for one in found["ruled_out"]] == [f"the {what} is the cause" for what in harmless]


@pytest.mark.parametrize("seed", [*of(Story.SURGE), *of(Story.SLOW_DATABASE)])
def test_where_nothing_was_deployed_nothing_that_happened_to_be_changed_is_blamed(
    runs: dict[int, Run], seed: int
) -> None:
    found = diagnosis_of(runs[seed])

    assert found["verdict"] == "cause_found"
    assert not found["root_cause_category"].startswith("change.")
    assert [claim for claim in found["validated_claims"] if claim["type"] == "change_event"] == []
    assert "deployment" not in found["root_cause"]


@pytest.mark.parametrize("seed", of(Story.UNSEEN))
def test_where_the_logs_are_missing_the_verdict_is_inconclusive_and_names_them(runs: dict[int, Run], seed: int) -> None:
    found = diagnosis_of(runs[seed])

    assert (found["verdict"], found["affected_object"]) == ("inconclusive", "")
    assert any("logs" in one for one in found["missing_evidence"])
    assert any("logs" in one for one in found["next_checks"])


def test_a_diagnosis_that_the_truth_contradicts_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_command, "open_scenario", with_another_truth)
    for name in [name for name in os.environ if name.startswith("INQUEST_")]:
        monkeypatch.delenv(name)

    code = demo_command.demo(tmp_path, 0, as_json=True)

    assert (code, int(Exit.FAILED)) == (Exit.FAILED, 2)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["wrong"] == [
        "the verdict is cause_found, it should be healthy",
        "the cause is change.deployment, it should be external.weather",
        "the culprit is deployment/shop/checkout, it should be nobody",
        f"it blames {', '.join(blamed())}, and no change did it",
    ]


def with_another_truth(name: str, *, seed: int) -> Scenario:
    scenario = open_scenario(name, seed=seed)
    other = Truth(verdict=Verdict.HEALTHY, root_cause="Nothing.", category="external.weather")
    return replace(scenario, header=scenario.header.but(truth=other))


def blamed() -> list[str]:
    """Name the deployment of variation 0 and what it brought."""
    (project,) = [
        one for one in open_scenario(PACK).changes.projects if one.project["path_with_namespace"] == "shop/checkout"
    ]
    return sorted([f"shop/checkout deployment {project.deployments[-1]['iid']}", truth_of(0).culprit_change])
