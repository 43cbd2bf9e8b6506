"""What a human is asked: bounded, named by its number, and which service an answer names."""

from __future__ import annotations

import pytest

from inquest.domain.budget import MAX_QUESTION_CHARS, Limits
from inquest.domain.event import InterruptAnswered, InterruptRaised
from inquest.domain.service import Service, entries_of, resolve_service
from inquest.stages.fold import absorb_event
from inquest.stages.questions import next_name, question_at, questions_left, raised, worded
from inquest.stages.resolve_integrations import named_in, which_service
from tests.builders import T0, at, investigation

PAYMENTS = Service(name="payments", match={"service": "payments"})
EU = Service(name="payments-eu", match={"app": "payments"})
CHOSEN = Service(name="ledger", match={"service": "payments", "app": "payments"})
LABELS = {"service": "payments", "app": "payments"}


def test_a_question_is_named_by_its_number_and_takes_one_of_those_that_may_be_asked() -> None:
    state = investigation(limits=Limits(max_questions=2))
    assert (next_name(state), questions_left(state)) == (f"{state.identity.run_id}-q1", 2)

    event = raised(state, "Who?", call_key="turn/1/call/1", now=T0)
    asked = absorb_event(state, event)

    assert asked is not None
    assert (next_name(asked), questions_left(asked)) == (f"{state.identity.run_id}-q2", 1)
    assert event.remaining_s == (state.deadline_at - T0).total_seconds()


def test_nobody_is_asked_unless_it_is_allowed() -> None:
    assert questions_left(investigation()) == 0


def test_after_the_deadline_nothing_of_the_time_is_left() -> None:
    state = investigation(limits=Limits(max_questions=1))

    assert raised(state, "Who?", call_key="x", now=at(10_000)).remaining_s == 0.0


def test_an_answer_is_kept_with_its_question() -> None:
    state = absorb_event(investigation(), InterruptRaised(interrupt_id="q", prompt="p", call_key="k", remaining_s=1.0))
    answered = absorb_event(state, InterruptAnswered(interrupt_id="q", answer="a", actor="o", extended_until=at(90)))

    assert answered is not None
    found = question_at(answered, "k")
    assert found is not None
    assert (found.answer, found.actor, found.expired) == ("a", "o", False)


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("Who  did\nit?", "Who did it?"),
        ("a\x00b\ud800c\x1b[2J", "a b c [2J"),
        ("\u202egnihton", "gnihton"),
        ("x" * (MAX_QUESTION_CHARS + 1), "x" * (MAX_QUESTION_CHARS - 1) + "…"),
    ],
)
def test_a_prompt_is_one_bounded_line_that_every_store_can_hold(prompt: str, line: str) -> None:
    assert worded(prompt) == line


# ---- which service


@pytest.mark.parametrize(
    ("catalogue", "names"),
    [
        ((), []),
        ((PAYMENTS,), ["payments"]),
        ((EU, PAYMENTS), ["payments", "payments-eu"]),
        ((EU, PAYMENTS, CHOSEN), ["ledger"]),
    ],
)
def test_an_alert_may_be_about_the_most_specific_entries(catalogue: tuple[Service, ...], names: list[str]) -> None:
    assert [entry.name for entry in entries_of(LABELS, catalogue)] == names


@pytest.mark.parametrize(("named", "taken"), [("", "payments-eu"), ("payments", "payments"), ("other", "payments-eu")])
def test_what_a_human_names_is_taken_where_the_catalogue_does_not_decide(named: str, taken: str) -> None:
    assert resolve_service(LABELS, (PAYMENTS, EU), named=named).service_id == taken


def test_no_name_overrides_what_the_catalogue_decides() -> None:
    assert resolve_service(LABELS, (PAYMENTS, EU, CHOSEN), named="payments").service_id == "ledger"


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("payments", "payments"),
        (" Payments-EU\n", "payments-eu"),
        ("it is payments-eu, its traffic was moved.", "payments-eu"),
        ("It's `payments`.", "payments"),
        ("payments or payments-eu", ""),
        ("no idea", ""),
        ("", ""),
        ("payments-eu-2", ""),
        ("admin", ""),
    ],
)
def test_an_answer_names_one_of_the_services_that_matched_or_none(answer: str, named: str) -> None:
    assert named_in(answer, (PAYMENTS, EU)) == named


def test_the_question_names_what_the_catalogue_cannot_tell_apart_and_is_bounded() -> None:
    many = [Service(name=f"service-{number:02d}", match={}) for number in range(30)]

    assert "payments, payments-eu. Answer" in which_service((PAYMENTS, EU))
    assert "service-09 and 20 more. Answer" in which_service(many)
