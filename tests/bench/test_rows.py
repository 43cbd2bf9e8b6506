from __future__ import annotations

import pytest

from bench.errors import BenchBroken
from bench.machine import Machine
from bench.printing import as_json, best_loop_ms, printed
from bench.rows import Aim, Figure, Row, Surroundings
from bench.summary import percentile, short, span
from tests.bench.builders import row

MACHINE = Machine(
    cores=2, processor="p", memory_mb=1, kernel="k", python="3", postgres="18", file_system="ext4", sync_ms=1, load=0.5
)


@pytest.mark.parametrize(
    ("percent", "found"), [(0, 1.0), (1, 1.0), (50, 2.0), (75, 3.0), (76, 4.0), (99, 4.0), (100, 4.0)]
)
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(percent: float, found: float) -> None:
    assert percentile([3.0, 1.0, 4.0, 2.0], percent) == found


def test_the_99th_percentile_of_a_hundred_leaves_one_value_out() -> None:
    assert percentile(range(1, 101), 99) == 99


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(BenchBroken):
        percentile([], 50)


def test_a_row_is_met_when_every_aim_is_and_neither_without_one() -> None:
    rate, slow = Aim(figure="rate", least=300), Aim(figure="p99", most=100)

    assert row(rate=300, p99=100, aims=(rate, slow)).met is True
    assert row(rate=299.9, p99=100, aims=(rate, slow)).met is False
    assert row(rate=300, p99=100.1, aims=(rate, slow)).met is False
    assert row(rate=1, p99=999).met is None


def test_an_aim_at_a_figure_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        assert row(rate=1, aims=(Aim(figure="p99", most=1),)).met


def test_the_loop_is_told_in_times_of_the_best_one_of_the_run() -> None:
    rows = [row(rate=300, aims=(Aim(figure="rate", least=301),)), row(p99=7, loop_ms=4.0, other_cores=None)]
    best = best_loop_ms(rows, [6.0, 5.0])

    text = printed(rows, MACHINE, loop_ms=best, load_after=1.5)

    assert best == 4.0
    told = [line.split("  ") for line in text.splitlines() if line.startswith("  what it is")]
    assert [[cell.strip() for cell in line if cell] for line in told] == [
        ["what it is", "rate 300 /s", "rate >= 301", "NO", "0.50 of 2 DISTURBED", "2.00x"],
        ["what it is", "p99 7 ms", "-", "-", "unknown", "1.00x"],
    ]


@pytest.mark.parametrize(("others", "said"), [(0.2, False), (0.21, True), (0.0, False), (None, None)])
def test_a_figure_is_disturbed_when_others_used_over_a_tenth_of_the_cores(
    others: float | None, said: bool | None
) -> None:
    assert Surroundings(other_cores=others, loop_ms=1.0).disturbed(cores=2) is said


def test_json_says_what_the_table_says() -> None:
    one = row(rate=300, aims=(Aim(figure="rate", least=301),))

    told = as_json([one], MACHINE, loop_ms=4.0, load_after=1.5)

    assert told == {
        "machine": MACHINE.model_dump(mode="json"),
        "load_after": 1.5,
        "best_loop_ms": 4.0,
        "rows": [{**one.model_dump(mode="json"), "met": False, "disturbed": True, "loop_ratio": 2.0}],
    }


def test_numbers_are_written_with_three_digits() -> None:
    assert [short(value) for value in (0.01234, 4.5678, 99.94, 1234.5)] == ["0.0123", "4.57", "99.9", "1,234"]
    assert span([3.0, 1.0], "ms") == "1-3 ms"


def test_a_row_is_a_value() -> None:
    one = Row(
        bench="b",
        what="w",
        figures=(Figure(name="f", value=1, unit="s"),),
        surroundings=Surroundings(other_cores=None, loop_ms=1),
    )

    assert Row.parse(one.canonical()) == one
