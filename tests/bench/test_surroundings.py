from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.memory import read_status
from bench.surroundings import Ticks, Watch, busy_ticks, process_ticks, tree_ticks

STAT = "cpu  100 5 50 9000 800 3 7 20 90 1\ncpu0 50 2 25 4500 400 1 3 10 45 0\nintr 1\n"
NAMED = "4711 (a (very) odd name 1 2) S 815 4711 4711 0 -1 4194560 100 0 0 0 10 20 300 4000 20 0 1 0 99 1 1"


def test_a_machine_is_busy_with_everything_but_idling_and_waiting_for_disks() -> None:
    assert busy_ticks(STAT) == 100 + 5 + 50 + 3 + 7 + 20


def test_a_process_has_its_own_time_and_that_of_the_children_it_waited_for() -> None:
    assert process_ticks(NAMED) == Ticks(parent=815, used=10 + 20 + 300 + 4000)


def test_a_tree_is_a_process_and_all_that_descend_from_it() -> None:
    processes = {
        1: Ticks(parent=0, used=1),
        10: Ticks(parent=1, used=10),
        20: Ticks(parent=10, used=100),
        21: Ticks(parent=10, used=1_000),
        30: Ticks(parent=20, used=10_000),
        40: Ticks(parent=1, used=100_000),
    }

    assert tree_ticks(processes, 10) == 11_110


def test_cores_of_others_are_told_over_all_rounds() -> None:
    watch, hertz = Watch(), os.sysconf("SC_CLK_TCK")
    watch.loops += [2.0, 4.0]

    watch.add(1.0, 2 * hertz)
    watch.add(3.0, 0)

    assert watch.surroundings.other_cores == pytest.approx(0.5)
    assert watch.surroundings.loop_ms == 3.0


def test_a_round_of_which_nothing_is_known_makes_the_whole_unknown() -> None:
    watch = Watch()
    watch.loops.append(1.0)

    watch.add(1.0, 5)
    watch.add(1.0, None)
    watch.add(1.0, 5)

    assert watch.surroundings.other_cores is None


def test_others_cannot_have_used_less_than_nothing() -> None:
    watch = Watch()
    watch.loops.append(1.0)

    watch.add(1.0, -3)  # ticks are counted a moment apart

    assert watch.surroundings.other_cores == 0.0


def test_a_round_is_calibrated_on_both_sides_and_watched_on_this_machine() -> None:
    watch = Watch()
    with watch.round():
        inside = len(watch.loops)

    assert 0 < inside < len(watch.loops)
    assert (watch.surroundings.other_cores is not None) == Path("/proc/stat").exists()


def test_memory_is_told_in_mebibytes() -> None:
    assert read_status("Name:\tpython\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n") == (100.0, 200.0)
