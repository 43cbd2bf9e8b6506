from __future__ import annotations

import json

import pytest

from bench.errors import BenchBroken
from bench.intake import CLOSED_LANES, KINDS, OPEN_LANES, Cell, cells, compared, row
from bench.pace import Pace, Sent
from bench.posts import ALERTS, group_post, new_post
from bench.rows import Surroundings
from bench.sender import Plan, requests_of
from inquest.domain.intake import IntakeConfig, NoAuth, keyed
from inquest.entrypoints.http.alerts import DoorLimits
from inquest.sources.alertmanager import parse

AT = "2026-03-01T10:00:00Z"
ON = "fsync on"
QUIET = Surroundings(other_cores=0.0, loop_ms=1.0)
NEW, REPEATS, ONE_GROUP = KINDS


def taken(*receipts: str, **more: int) -> Sent:
    return Sent(
        latencies_ms=(5.0,) * len(receipts),
        statuses={"202": len(receipts), **more},
        receipts=receipts,
        in_window=len(receipts),
        seconds=1,
    )


def groups(body: bytes) -> set[str]:
    members, warnings = keyed(parse(body), IntakeConfig(name="am", type="alertmanager", workspace="w", auth=NoAuth()))
    assert (len(members), warnings) == (ALERTS, ())
    return {member.group_key for member in members}


def test_each_new_post_is_one_group_that_no_other_post_has() -> None:
    found = [groups(new_post(number, AT)) for number in range(20)]

    assert [len(one) for one in found] == [1] * 20
    assert len(set.union(*found)) == 20


def test_a_repeat_is_byte_for_byte_the_post_before_and_no_other_groups() -> None:
    assert group_post(3, AT) == group_post(3, AT)
    assert len({group_post(number, AT) for number in range(50)}) == 50
    assert len(set.union(*(groups(group_post(number, AT)) for number in range(50)))) == 50


def test_a_plan_of_groups_repeats_them_in_turn_and_one_of_new_ones_never() -> None:
    def bodies(count: int, known: int) -> list[bytes]:
        pace = Pace(lanes=1, seconds=1, most=count)
        plan = Plan(host="h", port=1, path="/", token="t", starts_at=AT, first=7, groups=known, pace=pace)
        request = requests_of(plan)
        return [request(number).partition(b"\r\n\r\n")[2] for number in range(count)]

    assert bodies(5, known=2) == [group_post(number % 2, AT) for number in range(5)]
    assert bodies(5, known=0) == [new_post(7 + number, AT) for number in range(5)]
    assert json.loads(bodies(1, known=0)[0])["version"] == "4"


def test_every_kind_is_measured_open_and_at_each_concurrency() -> None:
    found = [(cell.kind.name, cell.pace.per_second, cell.pace.lanes) for cell in cells()]

    assert found == [
        (kind.name, rate, lanes)
        for kind in KINDS
        for rate, lanes in [(kind.offered, OPEN_LANES), *((None, one) for one in CLOSED_LANES)]
    ]


def test_an_open_loop_has_as_many_lanes_as_the_door_takes_posts() -> None:
    assert DoorLimits().max_in_flight == OPEN_LANES


def test_a_rate_is_that_of_202s_over_all_rounds() -> None:
    pace = Pace(lanes=8, seconds=1, most=9)
    first = Sent(latencies_ms=(1.0, 2.0), statuses={"202": 2, "503": 8}, receipts=("a", "b"), in_window=2, seconds=2)
    second = Sent(
        latencies_ms=(9.0,) * 6, statuses={"202": 6}, receipts=tuple("cdefgh"), in_window=6, seconds=2, sent_late=1
    )
    cell = Cell(NEW, pace, rounds=[first, second])
    cell.watch.loops.append(1.0)

    told = row(cell)

    assert {figure.name: figure.value for figure in told.figures} == {"rate": 2.0, "p50": 9.0, "p99": 9.0}
    assert told.note == "2 rounds 1-3/s, p99 2-9 ms; not 202: {'503': 8}, unanswered 0; 1 of 16 sent late"


@pytest.mark.parametrize(
    ("kind", "accepted", "latency_ms", "met"),
    [(NEW, 300, 99.0, True), (NEW, 299, 99.0, False), (NEW, 300, 101.0, False), (ONE_GROUP, 500, 1.0, None)],
)
def test_the_open_loop_has_the_aim(kind: object, accepted: int, latency_ms: float, met: bool | None) -> None:
    assert kind in KINDS
    pace = Pace(lanes=64, seconds=1, most=999, per_second=330)
    sent = Sent(latencies_ms=(latency_ms,), statuses={"202": accepted}, in_window=accepted, seconds=1)
    cell = Cell(kind, pace, rounds=[sent])
    cell.watch.loops.append(1.0)

    assert row(cell).met is met


def test_the_open_loop_says_what_it_offers_and_counts_no_202_that_came_after_its_window() -> None:
    pace = Pace(lanes=64, seconds=1, most=999, per_second=NEW.offered)
    cell = Cell(NEW, pace, rounds=[Sent(latencies_ms=(3.0,), statuses={"202": 330}, in_window=299, seconds=1)])
    cell.watch.loops.append(1.0)

    told = row(cell)

    assert {figure.name: figure.value for figure in told.figures} == {
        "offered": pytest.approx(330), "rate": 299, "p50": 3.0, "p99": 3.0,
    }  # fmt: skip
    assert told.met is False


def test_a_concurrency_has_no_aim() -> None:
    cell = Cell(NEW, Pace(lanes=8, seconds=1, most=9), rounds=[taken("a")])
    cell.watch.loops.append(1.0)

    assert row(cell).met is None


def test_a_cell_without_any_202_is_broken() -> None:
    with pytest.raises(BenchBroken):
        row(Cell(NEW, Pace(lanes=8, seconds=1, most=9), rounds=[Sent(statuses={"503": 3}, seconds=1)]))


def test_every_202_has_a_row() -> None:
    told = compared([taken("a"), taken("b")], {"a", "b"}, QUIET, ON)

    assert [(figure.name, figure.value) for figure in told.figures] == [("rows", 2), ("202s", 2), ("lost", 0)]
    assert (told.met, told.note) == (True, "fsync on")


def test_a_202_without_a_row_breaks_the_bench() -> None:
    with pytest.raises(BenchBroken, match="1 of them have no row"):
        compared([taken("a", "b")], {"a"}, QUIET, ON)


def test_one_row_for_two_202s_breaks_the_bench() -> None:
    with pytest.raises(BenchBroken):
        compared([taken("a"), taken("a")], {"a"}, QUIET, ON)


def test_a_post_that_was_refused_may_have_been_taken_in_but_no_more_rows_than_those() -> None:
    refused = Sent(statuses={"503": 1}, unanswered=1)

    assert compared([taken("a"), refused], {"a", "x", "y"}, QUIET, ON).note == "fsync on; 2 rows without a 202"
    with pytest.raises(BenchBroken):
        compared([taken("a"), refused], {"a", "x", "y", "z"}, QUIET, ON)
