import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.observation import Context, Query, QueryBudget
from inquest.domain.signals import LogLine, Logs, Matrix, Names, Other, Series, SignalContent, signal_content
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.wire.fitting import cut_text, fit, size_of
from inquest.wire.observe import Asked, Observed, content_bytes, observe
from inquest.wire.redaction import REDACTION_VERSION, Redactor

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
CONTEXT = Context(issuer="i", audience="a", resource="r", tenant="shop", workspace="main", connector="logs")
SPEC = ToolSpec(name="loki_query", description="d", parameters={}, source="logs", signal="logs")
SECRET = "hunter2-hunter2-hunter2"


def asked(*, max_items: int = 500, max_bytes: int = 65_536, expression: str = '{app="web"}') -> Asked:
    query = Query(
        tool="loki_query",
        service_id="web",
        arguments={"expression": expression},
        time_range=Window(start=START, end=START + timedelta(hours=1)),
        budget=QueryBudget(max_items=max_items, max_bytes=max_bytes),
    )
    return Asked(query=query, context=CONTEXT, spec=SPEC, expression=expression, retrieved_at=START, room=max_bytes)


def logs(*lines: str) -> Logs:
    return Logs(
        lines=tuple(
            LogLine(time=at, time_ns=f"{at}000000", labels={"app": "web"}, line=line) for at, line in enumerate(lines)
        )
    )


def seen(content: SignalContent, *, max_items: int = 500, max_bytes: int = 65_536) -> Observed:
    return observe(content, asked(max_items=max_items, max_bytes=max_bytes), Redactor([SECRET]))


def test_an_observation_says_where_it_comes_from() -> None:
    made = seen(logs("a"))
    observation = made.observation

    assert (observation.source, observation.tenant, observation.workspace, observation.service) == (
        "logs",
        "shop",
        "main",
        "web",
    )
    assert (observation.signal, observation.tool, observation.expression) == ("logs", "loki_query", '{app="web"}')
    assert (observation.cursor, observation.redaction_version) == (None, REDACTION_VERSION)
    assert observation.trust == "untrusted-provider-output"
    assert observation.digest == digest_of(made.content)
    assert not observation.truncated
    assert content_bytes(observation.content) == made.content
    assert signal_content.validate_json(made.content) == logs("a")


def test_the_digest_is_the_same_whatever_the_budget() -> None:
    content = logs(*(f"line {number} " + "x" * 100 for number in range(200)))
    small, items, large = seen(content, max_bytes=1000), seen(content, max_items=3), seen(content)

    assert len({made.observation.digest for made in (small, items, large)}) == 1
    assert [made.observation.truncated for made in (small, items, large)] == [True, True, False]
    assert items.observation.truncation.model_dump() == {
        "original_items": 200, "original_bytes": len(large.content), "kept_items": 3,
        "kept_bytes": size_of(items.observation.content.body),
    }  # fmt: skip
    assert size_of(small.observation.content.body) <= 1000
    assert signal_content.validate_json(canonical_json(items.observation.content.body)) == logs(
        *(line.line for line in content.lines[:3])
    )


@given(st.integers(256, 3000), st.integers(0, 400))
def test_a_secret_on_the_border_of_the_cut_never_shows(max_bytes: int, pad: int) -> None:
    made = seen(logs("x" * pad + f" key {SECRET} end", "password=" + SECRET[:9]), max_bytes=max_bytes)
    shown = made.observation.model_dump_json()

    assert SECRET not in made.content.decode()
    for length in range(5, len(SECRET)):
        assert SECRET[:length] not in shown


def test_hidden_text_is_gone_before_redaction_and_digest() -> None:
    made = seen(logs("pass\u200bword=hun\u00adter2 \u202egnp.exe\x00"))
    line = json.loads(made.content)["lines"][0]["line"]

    assert "hunter2" not in line
    assert line.startswith("password=[redacted-assigned]")
    assert not set(line) & set("\u200b\u00ad\u202e\x00")


def test_a_text_is_shown_as_text_and_cut_at_a_character() -> None:
    made = seen(Other(value="é" * 1000), max_bytes=301)

    assert made.observation.content.kind == "truncated-text"
    assert made.observation.content.body == "é" * 150
    assert made.observation.truncation.model_dump() == {
        "original_items": 1,
        "original_bytes": 2000,
        "kept_items": 1,
        "kept_bytes": 300,
    }
    assert json.loads(made.content) == {"kind": "other", "value": "é" * 1000}
    assert content_bytes(seen(Other(value="ab")).observation.content) == seen(Other(value="ab")).content


def test_what_the_transport_cut_is_truncated_though_all_of_it_is_shown() -> None:
    made = observe(logs("a"), asked(), Redactor(), cut=True)
    assert made.observation.content.kind == "truncated-json"


def test_a_series_too_long_to_show_keeps_its_first_points() -> None:
    points = tuple((at, 1.5) for at in range(0, 1_000_000, 1000))
    made = seen(Matrix(step_ms=1000, series=(Series(labels={"pod": "a"}, points=points),)), max_bytes=2000)
    shown = Matrix.model_validate_json(canonical_json(made.observation.content.body))

    assert shown.series[0].points == points[: len(shown.series[0].points)]
    assert len(shown.series[0].points) > 50
    assert made.observation.truncation.kept_items == 1


def test_labels_beside_points_are_redacted_and_points_are_kept() -> None:
    made = seen(
        Matrix(step_ms=1000, series=(Series(labels={"pod": f"x {SECRET}"}, points=((0, -0.0), (1, None), (2, 1e-7))),))
    )
    found = signal_content.validate_json(made.content)

    assert isinstance(found, Matrix)
    assert found.series[0].labels == {"pod": "x [redacted-configured]"}
    assert found.series[0].points == ((0, 0.0), (1, None), (2, 1e-7))
    assert content_bytes(made.observation.content) == made.content


def test_the_expression_is_redacted_too() -> None:
    made = observe(logs(), asked(expression=f'{{app="{SECRET}"}}'), Redactor([SECRET]))
    assert made.observation.expression == '{app="[redacted-configured]"}'


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=8),
    max_leaves=40,
)  # fmt: skip


@given(TREES, st.integers(4, 400))
def test_what_is_cut_is_whole_json_and_fits(tree: Json, room: int) -> None:
    cut = fit(tree, room)

    assert size_of(cut) <= room
    assert size_of(tree) > room or cut == tree


@given(st.lists(st.integers(), max_size=50), st.integers(4, 200))
def test_a_list_loses_its_last_members_only(items: list[int], room: int) -> None:
    cut = fit([*items], room)
    assert isinstance(cut, list)
    assert cut == items[: len(cut)]


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(0, 100))
def test_a_cut_text_is_a_beginning_in_whole_characters(text: str, room: int) -> None:
    cut = cut_text(text, room)
    assert text.startswith(cut)
    assert room - 3 <= len(cut.encode()) <= room or cut == text


@pytest.mark.parametrize("items", [1, 500])
def test_names_keep_their_order_and_count(items: int) -> None:
    made = seen(Names(names=tuple(f"n{number:04}" for number in range(501))), max_items=items)
    body = made.observation.content.body
    assert isinstance(body, dict)
    assert body["names"] == [f"n{number:04}" for number in range(items)]
