from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.failure import MAX_RETRY_AFTER_MS, Failure, FailureCode
from inquest.domain.value import Json
from inquest.wire import answer as module
from inquest.wire.answer import MAX_JSON_DEPTH, Answer, read_json, retry_after_ms, status_failure

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def answer(body: bytes = b"{}", *, status: int = 200, cut: bool = False, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body, cut)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, None), (201, None), (204, None), (301, FailureCode.CAPABILITY_DENIED), (304, FailureCode.CAPABILITY_DENIED),
        (400, FailureCode.INVALID_QUERY), (422, FailureCode.INVALID_QUERY), (401, FailureCode.CAPABILITY_DENIED),
        (403, FailureCode.CAPABILITY_DENIED), (404, FailureCode.SCHEMA_DRIFT), (408, FailureCode.TIMEOUT),
        (504, FailureCode.TIMEOUT), (413, FailureCode.BUDGET_EXHAUSTED), (429, FailureCode.RATE_LIMITED),
        (500, FailureCode.PROVIDER_ERROR), (503, FailureCode.PROVIDER_ERROR), (418, FailureCode.PROVIDER_ERROR),
        (101, FailureCode.PROVIDER_ERROR), (599, FailureCode.PROVIDER_ERROR),
    ],
)  # fmt: skip
def test_a_status_is_a_failure_code(status: int, code: FailureCode | None) -> None:
    failed = status_failure(answer(b"secret words", status=status), now=NOW)
    assert (failed and failed.code) == code
    assert "secret words" not in repr(failed)


@given(st.integers(100, 999))
def test_any_status_is_a_success_or_one_of_the_ten(status: int) -> None:
    failed = status_failure(answer(status=status), now=NOW)
    assert (failed is None) is (200 <= status < 300)


@pytest.mark.parametrize(
    ("said", "ms"),
    [
        ("7", 7_000), ("0", 0), ("99999999999999999999", 86_400_000), ("", None), ("-1", None), ("1.5", None), ("soon", None),
        ("\u0661", None), (format_datetime(NOW + timedelta(seconds=9)), 9_000), (format_datetime(NOW - timedelta(days=1)), 0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30_000), ("Sun, 99 Mar 2026 12:00:30 GMT", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(said: str, ms: int | None) -> None:
    assert retry_after_ms({"retry-after": said}, now=NOW) == ms


def test_only_a_limit_carries_a_wait_and_it_is_capped() -> None:
    limited = status_failure(answer(status=429, retry_after="99999"), now=NOW)
    busy = status_failure(answer(status=503, retry_after="9"), now=NOW)
    assert limited is not None
    assert busy is not None
    assert (limited.retry_after_ms, busy.retry_after_ms) == (MAX_RETRY_AFTER_MS, None)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("said", "code", "hint"),
    [
        (answer(b'{"a":1', cut=True), FailureCode.BUDGET_EXHAUSTED, "larger than the transport takes"),
        (answer(b"{}", content_type="text/html; charset=utf-8"), FailureCode.MALFORMED_RESULT, "a web page came back"),
        (answer(b"<html>"), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(b"\xff\xfe{\x00}\x00"), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(b'{"a":NaN}'), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(b"[Infinity]"), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(b"1" * 5000), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(nested(100_000)), FailureCode.MALFORMED_RESULT, "is not JSON"),
        (answer(nested(MAX_JSON_DEPTH + 2)), FailureCode.MALFORMED_RESULT, "nested deeper than"),
        (answer(b'{"a":' * 200 + b"1" + b"}" * 200), FailureCode.MALFORMED_RESULT, "nested deeper than"),
    ],
)
def test_what_is_no_json_says_so(said: Answer, code: FailureCode, hint: str) -> None:
    found = read_json(said)
    assert isinstance(found, Failure)
    assert found.code is code
    assert hint in found.hint


@pytest.mark.parametrize(
    "body", [b"{}", b"null", b'"x"', b' [1, 2.5, "\\u00e9", {"a": null}] ', nested(MAX_JSON_DEPTH)]
)
def test_json_is_read(body: bytes) -> None:
    assert not isinstance(read_json(answer(body)), Failure)


@pytest.mark.parametrize("body", [b'"\\ud800"', b'{"\\udfff": ["a\\ud83d"]}'])
def test_a_lone_surrogate_is_replaced_at_once(body: bytes) -> None:
    found = read_json(answer(body))
    assert not isinstance(found, Failure)
    assert "\ufffd" in str(found)
    str(found).encode("utf-8")


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read_json(answer(b'"\\ud83d\\ude00"')) == "\U0001f600"


def test_the_body_is_in_no_repr() -> None:
    assert "secret words" not in repr(answer(b"secret words"))


def test_other_threads_may_run_wherever_an_object_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[object] = []

    def seen(pairs: list[tuple[str, Json]]) -> Json:
        ended.append(len(pairs))
        return dict(pairs)

    monkeypatch.setattr(module, "_object", seen)
    assert read_json(answer(b'[{"a": {}}, {"a": 1, "b": 2}]')) == [{"a": {}}, {"a": 1, "b": 2}]
    assert ended == [0, 1, 2]
