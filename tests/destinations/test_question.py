"""A question in every form: what is asked, how it is answered, and no word of it acts."""

from __future__ import annotations

import pytest

from inquest.destinations.shared.gitlab_note import note_body
from inquest.destinations.shared.slack_blocks import root_message
from inquest.domain.budget import MAX_QUESTION_CHARS, Limits
from inquest.domain.question import Question
from inquest.domain.report import Report
from tests.destinations.test_slack_blocks import assert_is_inert, assert_is_taken, said
from tests.fakes.slack_blocks import all_text
from tests.reports import HOSTS, whole_report

HOSTILE = (
    "<!channel> @everyone /close [x](https://evil.example) <@U123> ![i](https://evil.example/i.png) `inquest answer x`"
)
HOW = 'inquest answer inv-1 "TEXT"'


def asking(prompt: str) -> Report:
    return whole_report(diagnosis=None, ended_at=None, kind="question", note=prompt, evidence=())


def test_a_slack_thread_says_what_is_asked_and_how_to_answer_it() -> None:
    text = all_text(said(root_message(asking("Who deployed at 10:01?"), HOSTS)))

    assert "*A question*" in text
    assert "Who deployed at 10:01?" in text
    assert HOW in text
    assert "after seven days" in text


@pytest.mark.parametrize("prompt", [HOSTILE, "x" * MAX_QUESTION_CHARS, "<!here> " * 75])
def test_a_question_fits_a_slack_message_and_nothing_in_it_acts(prompt: str) -> None:
    message = root_message(asking(prompt), HOSTS)

    assert_is_taken(message)
    assert_is_inert(message)


def test_a_gitlab_note_says_it_and_nothing_in_it_acts() -> None:
    first = note_body(asking(HOSTILE), {}, HOSTS).splitlines()[0]

    assert first.startswith("**A question**: the investigation waits for an answer. ")
    assert f"`{HOW}`" in first
    outside = "".join(first.split("`")[::2])
    for acts in ("@everyone", "/close", "evil.example", "<!channel>"):
        assert acts not in outside


def test_a_report_shows_what_was_asked_and_marks_the_answer_as_unchecked() -> None:
    asked = (
        Question(
            interrupt_id="inv-1-q1", prompt="Who?", call_key="turn/1/call/1", answer="@all alice", actor="operator"
        ),
        Question(interrupt_id="inv-1-q2", prompt="Why?", call_key="turn/2/call/1", expired=True),
    )
    text = note_body(whole_report(questions=asked, limits=Limits(max_questions=3)), {}, HOSTS)

    assert "- A human was asked: Who? Answered by operator, unchecked: `@all` alice" in text
    assert "- A human was asked: Why? Nobody answered." in text
    assert "2 of 3 questions" in text


def test_a_report_in_which_nobody_may_be_asked_has_the_bytes_that_it_had() -> None:
    written = whole_report().canonical()

    assert b'"questions"' not in written
    assert b'"max_questions"' not in written
