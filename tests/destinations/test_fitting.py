"""A page that is cut says what is missing, loses the least important first, and fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquest.destinations.shared.fitting import CUT_FIRST, fitted, shortened
from inquest.destinations.shared.markdown import markdown
from inquest.destinations.shared.outline import page_of
from inquest.destinations.shared.page import Page
from tests.destinations.hostile import hostile_report
from tests.incident import incident_shelf
from tests.reports import HOSTS, whole_report

SHELF = incident_shelf()
PAGE = page_of(whole_report(SHELF), SHELF.contents)
WHOLE = shortened("inv-1")


def size(page: Page) -> int:
    return len(markdown(page, HOSTS))


def within(limit: int, page: Page = PAGE) -> Page:
    return fitted(page, lambda shorter: size(shorter) <= limit, WHOLE)


def test_a_page_that_fits_stays_as_it_is() -> None:
    assert within(size(PAGE)) is PAGE


@given(st.integers(min_value=2_000, max_value=20_000))
def test_a_cut_page_fits_and_says_that_it_is_cut(limit: int) -> None:
    page = within(limit)
    assert size(page) <= limit
    assert (page == PAGE) or page.footer[0] == WHOLE
    assert [section.title for section in page.sections] == [section.title for section in PAGE.sections]


def test_the_cause_is_whole_while_anything_else_can_be_cut() -> None:
    cause = CUT_FIRST[-1]
    pages = [within(limit) for limit in range(size(PAGE), 2_500, -200)]
    cut = [page for page in pages if page.sections[cause] != PAGE.sections[cause]]
    for page in cut:
        assert page.sections[CUT_FIRST[0]] != PAGE.sections[CUT_FIRST[0]]
    assert pages[1].sections[cause] == PAGE.sections[cause]


@pytest.mark.parametrize("limit", [3_500, 2_500])
def test_what_is_left_out_is_counted_where_it_stood(limit: int) -> None:
    assert "in the whole report" in markdown(within(limit), HOSTS).decode()


@settings(max_examples=20)
@given(st.text(alphabet="&<>`a/ \n", min_size=100, max_size=2_000))
def test_a_page_of_long_texts_fits_in_the_end(text: str) -> None:
    page = page_of(hostile_report(text, SHELF), SHELF.contents)
    assert size(within(8_000, page)) <= 8_000
