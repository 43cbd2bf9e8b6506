from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.connectors.loki.paging import MAX_TIES, Border, Turn, cut, turn
from inquest.connectors.loki.shapes import Entry
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Error, Ok, Partial, QueryBudget
from inquest.domain.signals import Logs, signal_content
from inquest.domain.value import Labels, epoch_ms
from inquest.domain.window import Window
from inquest.ports import Reading
from inquest.wire.cursor import MAX_PROVIDER_CURSOR_CHARS
from inquest.wire.execute import execute_read
from tests.connectors.harness import CONTEXT, WINDOW
from tests.connectors.loki_reads import connected, prepared
from tests.fakes.loki import Kept, route

WEB: Labels = {"app": "web"}
BEGUN = epoch_ms(WINDOW.start) * 10**6
HOUR = Window(start=WINDOW.start, end=WINDOW.start.replace(hour=WINDOW.start.hour + 1))
START, END = 0, 50


def told(kept: Sequence[Entry], asked: Turn) -> list[Entry]:
    """Answer as Loki does: the first `limit` lines of the range in the direction, then in time order."""
    inside = sorted((one for one in kept if asked.start_ns <= one.at_ns < asked.end_ns), key=lambda one: one.at_ns)
    return inside[: asked.limit] if asked.forward else inside[max(0, len(inside) - asked.limit) :]


def all_pages(kept: Sequence[Entry], *, lines: int, forward: bool) -> list[tuple[Entry, ...]]:
    pages, border = [], None
    for _ in range(len(kept) + 2):
        asked = turn(START, END, lines=lines, forward=forward, border=border)
        page = cut(asked, told(kept, asked))
        pages.append(page.entries)
        assert not page.left_out
        if page.following is None:
            return pages
        border = Border.read(page.following.write())
        assert border == page.following
    raise AssertionError("the pages do not end")


# Few moments and few texts: ties and equal lines are the rule.
ENTRIES = st.lists(
    st.builds(Entry, st.integers(START, 5), st.sampled_from([WEB, {"app": "api"}]), st.sampled_from("ab")), max_size=30
)


@given(ENTRIES, st.integers(1, 7), st.booleans())
def test_the_pages_together_are_all_lines_each_once(kept: list[Entry], lines: int, forward: bool) -> None:
    pages = all_pages(kept, lines=lines, forward=forward)

    found = Counter((one.at_ns, one.key) for page in pages for one in page)
    assert found == Counter((one.at_ns, one.key) for one in kept)
    assert all(len(page) <= lines for page in pages)


@given(ENTRIES, st.integers(1, 7), st.booleans())
def test_pages_go_on_in_their_direction(kept: list[Entry], lines: int, forward: bool) -> None:
    times = [
        one.at_ns for page in all_pages(kept, lines=lines, forward=forward) for one in (page if forward else page[::-1])
    ]
    assert times == sorted(times, reverse=not forward)


def test_a_line_that_is_written_while_pages_are_read_takes_none_away() -> None:
    old = [Entry(at, WEB, f"line {at}") for at in range(10)]
    first = turn(START, END, lines=4, forward=False, border=None)
    page = cut(first, told(old, first))
    more = [*old, Entry(9, WEB, "late"), Entry(11, WEB, "later")]
    second = turn(START, END, lines=4, forward=False, border=page.following)
    assert [one.line for one in cut(second, told(more, second)).entries] == ["line 2", "line 3", "line 4", "line 5"]


def test_a_source_that_gives_ties_in_another_order_each_time_loses_and_repeats_none() -> None:
    kept = [Entry(7, WEB, f"tie {index}") for index in range(20)]
    found: list[Entry] = []
    border = None
    for number in range(20):
        asked = turn(START, END, lines=3, forward=False, border=border)
        answer = [*kept[number * 5 % 20 :], *kept[: number * 5 % 20]][: asked.limit]
        page = cut(asked, answer)
        found += page.entries
        border = page.following
        if border is None:
            break
    assert Counter(one.line for one in found) == Counter(one.line for one in kept)


@pytest.mark.parametrize("forward", [True, False])
def test_more_ties_than_a_cursor_holds_are_left_out_and_that_is_said(forward: bool) -> None:
    kept = [Entry(7, WEB, f"tie {index}") for index in range(MAX_TIES + 20)]
    kept += [Entry(at, WEB, "other") for at in (3, 20)]
    asked = turn(START, END, lines=MAX_TIES + 5, forward=forward, border=None)
    page = cut(asked, told(kept, asked))

    assert page.left_out
    assert page.following == Border(8 if forward else 6)
    following = turn(START, END, lines=10, forward=forward, border=page.following)
    assert [one.at_ns for one in cut(following, told(kept, following)).entries] == [20 if forward else 3]


def test_the_longest_cursor_is_handed_on() -> None:
    longest = Border(10**18, tuple(Entry(1, WEB, str(index)).key for index in range(MAX_TIES)))
    assert Border.read(longest.write()) == longest
    assert len(longest.write()) <= MAX_PROVIDER_CURSOR_CHARS


@pytest.mark.parametrize("cursor", ["", "x", "12,", "12,zz", "-1", "1" * 20, "12,0123456789abcdef,", "12;1"])
def test_what_is_no_cursor_of_ours_is_none(cursor: str) -> None:
    assert Border.read(cursor) is None


# ---- through the connector ---------------------------------------------------------------------------------


def lines_of(reading: Reading) -> list[str]:
    assert not isinstance(reading.outcome, Error), reading.outcome
    (one,) = reading.outcome.observations
    content = signal_content.validate_json(reading.contents[one.digest])
    assert isinstance(content, Logs)
    return [one.line for one in content.lines]


@pytest.mark.parametrize(
    ("direction", "pages"),
    [
        ("backward", [["5", "6", "7"], ["2", "3", "4"], ["0", "1"]]),
        ("forward", [["0", "1", "2"], ["3", "4", "5"], ["6", "7"]]),
    ],
)
async def test_pages_are_read_by_time_and_ties_come_once(direction: str, pages: list[list[str]]) -> None:
    kept = Kept([(BEGUN + at, WEB, str(at)) for at in range(8)])
    tied = Kept([(BEGUN + at // 4, WEB, str(at)) for at in range(8)])
    for source in (kept, tied):
        async with connected(source) as (fake, connector):
            query = prepared(
                connector,
                "query",
                {"expression": '{app="web"}', "direction": direction},
                HOUR,
                QueryBudget(max_items=3),
            )
            found, cursor = [], None
            for _ in pages:
                reading = await execute_read(connector, CONTEXT, query.but(cursor=cursor))
                found.append(lines_of(reading))
                assert isinstance(reading.outcome, Ok)
                cursor = reading.outcome.next_cursor
        assert [sorted(page) for page in found] == pages
        assert cursor is None
        assert len(fake.seen) == len(pages)


async def test_a_later_page_does_not_ask_the_index_again() -> None:
    async with connected(Kept([(BEGUN + at, WEB, str(at)) for at in range(4)])) as (fake, connector):
        query = prepared(connector, "query", {"expression": '{app="web"}'}, budget=QueryBudget(max_items=3))
        first = await execute_read(connector, CONTEXT, query)
        assert isinstance(first.outcome, Ok)
        second = await execute_read(connector, CONTEXT, query.but(cursor=first.outcome.next_cursor))
    assert [route(seen) for seen in fake.seen] == ["stats", "query_range", "query_range"]
    assert (first.exchanges, second.exchanges) == (2, 1)


async def test_lines_that_are_left_out_between_pages_make_it_partial() -> None:
    async with connected(Kept([(BEGUN, WEB, str(index)) for index in range(MAX_TIES + 9)])) as (_, connector):
        budget = QueryBudget(max_items=MAX_TIES + 5)
        reading = await execute_read(
            connector, CONTEXT, prepared(connector, "query", {"expression": '{app="web"}'}, HOUR, budget)
        )
    assert isinstance(reading.outcome, Partial)
    assert reading.outcome.error.code is FailureCode.BUDGET_EXHAUSTED
    assert reading.outcome.next_cursor is None
    assert len(lines_of(reading)) == MAX_TIES + 5
