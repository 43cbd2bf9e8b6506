"""POST /v1/investigations/{id}/answer: one answer is taken, whoever sends how many, and it is text and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from inquest.domain.budget import MAX_ANSWER_CHARS
from inquest.domain.event import InterruptAnswered
from tests.bootstrap.files import build
from tests.bootstrap.questions import waiting
from tests.entrypoints.http.service import Service, one_workspace, serving
from tests.entrypoints.http.test_acting import code
from tests.entrypoints.http.test_investigations import LIST, UNKNOWN, opened
from tests.store.door import Door

SECRET = "glpat-abcdefghij0123456789"


def path(investigation: str) -> str:
    return f"{LIST}/{investigation}/answer"


def body(investigation: str, answer: str = "payments") -> dict[str, Any]:
    return {"interrupt_id": f"{investigation}-q1", "answer": answer}


async def shown(service: Service, investigation: str) -> dict[str, Any]:
    found: dict[str, Any] = (await service.get(f"{LIST}/{investigation}")).json()
    return found


async def test_an_investigation_that_waits_shows_its_question_and_goes_on_with_the_answer(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    installation, found = await waiting(rows, tmp_path)
    asked = await shown(service, found)
    assert (asked["status"], asked["question"]["interrupt_id"]) == ("waiting", f"{found}-q1")
    assert asked["question"]["prompt"].endswith("payments, payments-eu. Answer with one of these names.")

    answer = await service.post(path(found), body(found))

    assert (answer.status_code, answer.json()["status"], answer.json()["question"]) == (200, "queued", None)
    assert service.metric("inquest_questions_total", outcome="answered") == 1
    await installation.run()
    ended = await shown(service, found)
    assert (ended["status"], ended["service"]) == ("succeeded", "payments")
    report = (await service.get(f"{LIST}/{found}/report", form="md")).text
    assert "A human was asked: " in report
    assert "unchecked: payments" in report


async def test_of_two_at_once_one_is_taken_and_a_later_one_is_refused_by_another_service_too(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    installation, found = await waiting(rows, tmp_path)

    answers = await asyncio.gather(*(service.post(path(found), body(found, said)) for said in ("payments", "x")))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    async with serving(rows.database, one_workspace(tmp_path)) as restarted:
        late = await restarted.post(path(found), body(found))
    assert (code(late), late.json()["error"]["message"]) == ((409, "wrong_status"), "it was answered before")
    answered = [event for event in await installation.events(found) if isinstance(event.body, InterruptAnswered)]
    assert len(answered) == 1


async def test_another_question_or_another_investigation_is_not_found_and_it_still_waits(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    _, found = await waiting(rows, tmp_path)

    for wrong in (f"{found}-q2", f"{UNKNOWN}-q1", "q1"):
        assert code(await service.post(path(found), body(found) | {"interrupt_id": wrong})) == (404, "not_found")
    assert code(await service.post(path(UNKNOWN), body(UNKNOWN))) == (404, "not_found")

    assert (await shown(service, found))["status"] == "waiting"


async def test_one_that_asks_nothing_takes_no_answer(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    assert code(await service.post(path(found), body(found))) == (404, "not_found")


async def test_who_is_no_operator_answers_nothing_however_large_the_body(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    _, found = await waiting(rows, tmp_path)

    for headers in ({}, {"Authorization": "Bearer another"}):
        for sent in (body(found), b"x" * 1_000_000):
            assert code(await service.post(path(found), sent, headers)) == (401, "unauthorized")

    assert (await shown(service, found))["status"] == "waiting"


async def test_another_workspaces_question_is_not_found(rows: Door, tmp_path: Path) -> None:
    _, found = await waiting(rows, tmp_path)
    two = build('{"version": 1, "workspaces": {"default": {}, "other": {}}}', tmp_path)
    async with serving(rows.database, two) as both:
        answer = await both.post(f"{path(found)}?workspace=other", body(found))

        assert code(answer) == (404, "not_found")
        assert (await both.get(f"{LIST}/{found}", workspace="default")).json()["status"] == "waiting"


NO_ANSWERS = (
    b"", b"[]", b"{", b'{"interrupt_id": "q"}', b'{"interrupt_id": "q", "answer": ""}',
    b'{"interrupt_id": "q", "answer": 1}', b'{"interrupt_id": "q", "answer": "a", "scope": "all"}',
    b'{"interrupt_id": "q", "answer": "\\ud800"}', b"\xff\xfe", b"[" * 60_000,
)  # fmt: skip


async def test_a_body_that_can_be_no_answer_is_refused_and_not_repeated(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    _, found = await waiting(rows, tmp_path)

    for sent in NO_ANSWERS:
        answer = await service.post(path(found), sent)

        assert code(answer) == (422, "invalid"), sent[:50]
    assert (await shown(service, found))["status"] == "waiting"


@pytest.mark.parametrize(
    ("answer", "status"),
    [("x" * MAX_ANSWER_CHARS, 200), ("x" * (MAX_ANSWER_CHARS + 1), 422), (" \n\t ", 422), ("x" * 70_000, 413)],
)
async def test_an_answer_that_is_too_long_or_empty_is_refused_and_not_cut(
    service: Service, rows: Door, tmp_path: Path, answer: str, status: int
) -> None:
    _, found = await waiting(rows, tmp_path)

    assert (await service.post(path(found), body(found, answer))).status_code == status


async def test_an_answer_is_recorded_sanitised_and_without_secrets(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    installation, found = await waiting(rows, tmp_path)

    answer = await service.post(path(found), body(found, f"pay\x00ments \x1b[2J token {SECRET}\u202e"))

    assert answer.status_code == 200
    (said,) = [e.body.answer for e in await installation.events(found) if isinstance(e.body, InterruptAnswered)]
    assert SECRET not in said
    assert not set(said) & {"\x00", "\x1b", "\u202e"}
    assert SECRET not in str(rows.rows("select answer, prompt from interrupt"))
