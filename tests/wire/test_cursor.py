from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.observation import Context, Query, QueryBudget
from inquest.domain.window import Window
from inquest.wire.cursor import MAX_CURSOR_CHARS, CursorKey, PageCursor

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
KEY = CursorKey(b"k" * 32)
CONTEXT = Context(issuer="i", audience="a", resource="r", tenant="t", workspace="w", connector="c")
QUERY = Query(
    tool="loki_query",
    service_id="web",
    arguments={"expression": '{app="web"}'},
    time_range=Window(start=START, end=START + timedelta(hours=1)),
)
CURSOR = PageCursor(provider="1772359200000000000", page=2, bytes_used=512)


@given(st.text(st.characters(codec="utf-8"), max_size=50), st.integers(2, 10), st.integers(0, 2**40))
def test_a_cursor_gives_back_the_providers_byte_for_byte(provider: str, page: int, bytes_used: int) -> None:
    cursor = PageCursor(provider=provider, page=page, bytes_used=bytes_used)
    assert KEY.open(QUERY, CONTEXT, KEY.seal(QUERY, CONTEXT, cursor)) == cursor


def test_the_cursor_that_is_sent_back_with_the_query_is_no_part_of_what_it_signs() -> None:
    token = KEY.seal(QUERY, CONTEXT, CURSOR)
    assert KEY.open(QUERY.but(cursor=token), CONTEXT, token) == CURSOR


TOKEN = KEY.seal(QUERY, CONTEXT, CURSOR)


@given(st.integers(0, len(TOKEN) - 1), st.characters(codec="utf-8"))
def test_a_changed_byte_is_no_cursor(at: int, char: str) -> None:
    changed = TOKEN[:at] + char + TOKEN[at + 1 :]
    assert (KEY.open(QUERY, CONTEXT, changed) is None) is (changed != TOKEN)


@pytest.mark.parametrize(
    "token", ["", "x", TOKEN + "=", TOKEN + "\n", TOKEN[:-1], TOKEN * 2, "=" * 50, "A" * (MAX_CURSOR_CHARS + 4), "é"]
)
def test_what_was_never_issued_is_no_cursor(token: str) -> None:
    assert KEY.open(QUERY, CONTEXT, token) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": "loki_count"},
        {"service_id": "db"},
        {"arguments": {"expression": '{app="db"}'}},
        {"time_range": Window(start=START, end=START + timedelta(hours=2))},
        {"budget": QueryBudget(max_pages=4)},
    ],
)
def test_another_query_cannot_use_the_cursor(changes: dict[str, Any]) -> None:
    assert KEY.open(QUERY.but(**changes), CONTEXT, TOKEN) is None


@pytest.mark.parametrize("field", list(Context.model_fields))
def test_another_context_cannot_use_the_cursor(field: str) -> None:
    assert KEY.open(QUERY, CONTEXT.but(**{field: "other"}), TOKEN) is None


def test_another_installation_cannot_use_the_cursor() -> None:
    assert CursorKey(b"o" * 32).open(QUERY, CONTEXT, TOKEN) is None


def test_a_key_is_never_shown() -> None:
    assert "kkk" not in f"{KEY!r} {KEY}"
