from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import bench.__main__
from bench.errors import BenchBroken
from bench.rows import Aim, Row
from tests.bench.builders import row


def broken() -> list[Row]:
    raise BenchBroken("a post was lost")


def slow() -> list[Row]:
    return [row(rate=1, aims=(Aim(figure="rate", least=300),))]


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Callable[[], list[Row]]] = {"slow": slow, "broken": broken}
    monkeypatch.setattr(bench.__main__, "BENCHES", found)


def test_a_missed_aim_is_printed_and_is_no_failure(benches: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.__main__.main(["--only", "slow", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["rows"]
    assert told["met"] is False


def test_a_bench_that_broke_is_a_failure_and_the_others_are_measured_and_printed(
    benches: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.__main__.main(["--only", "broken", "--only", "slow", "--json"]) == 1
    said = capsys.readouterr()
    assert "broken broke: a post was lost" in said.err
    assert len(json.loads(said.out)["rows"]) == 1


def test_a_bench_that_is_not_there_is_refused(benches: None) -> None:
    with pytest.raises(SystemExit):
        bench.__main__.main(["--only", "lightning"])
