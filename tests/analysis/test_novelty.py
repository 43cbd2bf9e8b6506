"""Which log lines are new: by their template, not by their numbers and ids."""

from __future__ import annotations

import json

from inquest.analysis.novelty import MAX_LINES, masked, message_of, novel_templates
from inquest.domain.signals import LogLine


def lines(*texts: str) -> tuple[LogLine, ...]:
    return tuple(LogLine(time=1_000 * n, time_ns=f"{n}", labels={}, line=text) for n, text in enumerate(texts))


def test_a_line_whose_template_was_there_before_is_not_new() -> None:
    before = lines(*(f"request {n} failed after {n * 7} ms" for n in range(20)))
    during = lines(*(f"request {n} failed after {n * 9} ms" for n in range(900, 920)))

    assert novel_templates(during, before) == ()


def test_a_new_template_is_told_with_its_count_and_first_line() -> None:
    before = lines(*("GET /cart 200" for _ in range(10)))
    during = lines(
        "GET /cart 200", *(f"timeout acquiring connection from pool after {n} ms" for n in (5000, 5001, 5002))
    )

    (novel,) = novel_templates(during, before)

    assert (novel.incident, novel.baseline, novel.line_index, novel.first_ms) == (3, 0, 1, 1_000)
    assert novel.template == "timeout acquiring connection from pool after <number> ms"
    assert novel_templates(during[:-1], before) == ()


def test_a_known_template_is_told_when_it_is_much_more_frequent() -> None:
    before, during = lines("disk slow"), lines(*["disk slow"] * 6)

    assert [(one.incident, one.baseline) for one in novel_templates(during, before)] == [(6, 1)]
    assert novel_templates(during[:5], before) == ()


def test_a_json_line_is_told_by_its_message() -> None:
    line = json.dumps({"ts": "2026-03-01T10:00:00Z", "level": "error", "msg": "no route", "error": "dial tcp"})

    assert message_of(line) == "no route: dial tcp"
    assert message_of('{"broken": ') == '{"broken": '
    assert message_of("[" * 5000)[:3] == "[[["


def test_times_ids_addresses_and_numbers_are_masked() -> None:
    text = "2026-03-01T10:00:00.123Z 10.0.0.9:5432 3fa85f64-5717-4562-b3fc-2c963f66afa6 deadbeef01 took 12.5"

    assert masked(text) == "<time> <address> <id> <id> took <number>"


def test_only_a_bounded_number_of_lines_is_read() -> None:
    during = lines(*["known"] * MAX_LINES, "brand new line at the end")

    assert [one.template for one in novel_templates(during, lines("known"))] == ["known"]
