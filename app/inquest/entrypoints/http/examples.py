"""Answers for the API's document: the shape, and an example that has it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from inquest.destinations.shared.sheet import Sheet
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.episode import Episode, Member
from inquest.domain.report import Report
from inquest.entrypoints.http.shapes import (
    Alive,
    DeletedShown,
    EventList,
    HaltList,
    InvestigationList,
    InvestigationShown,
    PostTaken,
    Problem,
    Ready,
)

Responses = dict[int | str, dict[str, Any]]

ID = "0199a3c5f0a17c3e8b1d2f4a6c8e0b12"
_EPISODE = "0199a3c5f0a17c3e8b1d2f4a6c8e0b14"
_NOON = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
_ROW: dict[str, Any] = {
    "id": ID,
    "workspace": "default",
    "episode_id": _EPISODE,
    "opened_by": "intake:alertmanager",
    "workflow": "investigate/1",
    "status": "succeeded",
    "severity_rank": 4,
    "not_before": None,
    "defer_reason": "",
    "generation": 1,
    "attempt": 1,
    "deadline_at": "2026-03-01T10:40:02Z",
    "spend": {"model_turns": 4, "connector_effects": 16, "input_tokens": 0, "output_tokens": 0, "usd_micros": 0},
    "parent_id": None,
    "origin": {"intake": "alertmanager", "source": "alertmanager"},
    "verdict": "cause_found",
    "title": "CheckoutErrorRatioHigh",
    "service": "checkout",
    "created_at": "2026-03-01T10:30:01Z",
    "started_at": "2026-03-01T10:30:02Z",
    "ended_at": "2026-03-01T10:30:05Z",
    "question": None,
}
_CANCELLED = {**_ROW, "status": "cancelled", "verdict": "", "generation": 2}
_QUEUED = {
    **_ROW, "id": "0199a3c5f0a17c3e8b1d2f4a6c8e0b16", "opened_by": "operator", "status": "queued", "verdict": "",
    "generation": 0, "deadline_at": None, "parent_id": ID, "started_at": None, "ended_at": None,
}  # fmt: skip
_ANSWERED = {**_ROW, "status": "queued", "verdict": "", "generation": 2, "ended_at": None}
ANSWER_BODY: dict[str, Any] = {"interrupt_id": f"{ID}-q1", "answer": "payments-eu: its traffic was moved at 10:20 UTC"}
_EVENT = {
    "seq": 3,
    "batch_id": "batch/3",
    "generation": 2,
    "attempt": 1,
    "schema_version": 2,
    "body": {"kind": "generation_advanced", "owner_id": "w-2", "generation": 2, "attempt": 1, "why": "lease_expired"},
    "body_digest": "sha256:" + "0" * 64,
    "prev_digest": "sha256:" + "1" * 64,
    "committed_at": "2026-03-01T10:30:02Z",
}
_STREAM = 'retry: 2000\n\nid: 3\nevent: generation_advanced\ndata: {"attempt":1,"seq":3}\n\n: still here\n\n'
_SENT = {
    "id": ID,
    "state": "deleted",
    "stays": [{"destination": "slack#thread", "reference": "C024BE91L/1772361005.000200"}],
    "note": "what was delivered stays where it was sent: take it away there",
}
_POSTED = {
    "receipt_id": "0199a3c5f0a17c3e8b1d2f4a6c8e0b11",
    "state": "accepted",
    "counts": {"opened": 1, "joined": 2},
    "investigations": [
        {"investigation_id": ID, "episode_id": _EPISODE, "status": "queued", "not_before": None, "defer_reason": ""}
    ],
}
POST_BODY: dict[str, Any] = {
    "version": "4",
    "groupKey": '{}:{alertname="CheckoutErrorRatioHigh"}',
    "status": "firing",
    "receiver": "inquest",
    "groupLabels": {"alertname": "CheckoutErrorRatioHigh"},
    "commonLabels": {"alertname": "CheckoutErrorRatioHigh", "service": "checkout", "severity": "critical"},
    "commonAnnotations": {},
    "externalURL": "http://alertmanager.example:9093",
    "truncatedAlerts": 0,
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "CheckoutErrorRatioHigh", "service": "checkout", "severity": "critical"},
            "annotations": {"summary": "5 % of checkouts fail"},
            "startsAt": "2026-03-01T10:29:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "",
            "fingerprint": "c7d1f0b3a5e29468",
        }
    ],
}


def _report() -> dict[str, Any]:
    alert = Alert(fingerprint="c7d1f0b3a5e29468", name="CheckoutErrorRatioHigh", status=AlertStatus.FIRING)
    member = Member(alert_id="0199a3c5f0a17c3e8b1d2f4a6c8e0b15", alert=alert, occurrences=1, first_seen=_NOON, last_seen=_NOON)  # fmt: skip
    episode = Episode(
        episode_id=_EPISODE, group_key="sha256:" + "2" * 64, intake="alertmanager", source="alertmanager",
        opened_at=_NOON, members=(member,),
    )  # fmt: skip
    report = Report(
        investigation_id=ID, workspace="default", revision=1, kind="report", title="CheckoutErrorRatioHigh",
        service="checkout", severity="critical", episode=episode, episode_state="firing",
    )  # fmt: skip
    return Sheet(report=report).model_dump(mode="json")


def answered(shape: type[BaseModel], example: object, *, status: int = 200, description: str = "") -> Responses:
    """Describe an answer of JSON."""
    told: dict[str, Any] = {"model": shape, "content": {"application/json": {"example": example}}}
    return {status: {**told, "description": description} if description else told}


def problem(status: int, description: str, **messages: str) -> Responses:
    """Describe an error, with an example for each of its codes."""
    shown = {code: {"value": {"error": {"code": code, "message": message}}} for code, message in messages.items()}
    return {
        status: {"model": Problem, "description": description, "content": {"application/json": {"examples": shown}}}
    }


BROKEN = problem(500, "Something in Inquest is broken", internal="something in Inquest is broken; it has been reported where reports are on")  # fmt: skip
UNAUTHORIZED = problem(401, "No or another token", unauthorized="this route needs the operator's bearer token")
UNAVAILABLE = problem(
    503, "Try again after Retry-After", unavailable="the database does not answer (no connection)",
    overloaded="200 streams are open: take it up again later, or poll",
)  # fmt: skip
OPERATOR: Responses = {**UNAUTHORIZED, **BROKEN}
REFUSALS: Responses = {
    **OPERATOR,
    **problem(404, "Not here, or of another workspace", not_found="no such thing here"),
    **problem(410, "It was deleted", deleted="it was deleted"),
    **problem(422, "A parameter that cannot be meant", invalid="query.since: needs a time zone"),
    **UNAVAILABLE,
}
HALT_REFUSALS: Responses = {
    **OPERATOR,
    **problem(404, "No such workspace", not_found="no such thing here"),
    **problem(422, "A parameter that cannot be meant", invalid="query.by: too long"),
    **UNAVAILABLE,
}
WRONG_STATUS = problem(409, "Its status does not allow it", wrong_status="it has already succeeded")
NOT_WAITING = problem(409, "It waits for no answer, or for another", wrong_status="it was answered before")
UNREADABLE_ANSWER: Responses = {
    **problem(400, "The body was cut off", cut_off="the sender went away in the middle of its body"),
    **problem(408, "The body did not come in time", slow_body="the body was not there after 10 s"),
    **problem(413, "Too large", too_large="the body is larger than 65536 bytes"),
}
CANNOT_DELETE = problem(
    501, "The database has no retention role",
    cannot_delete="this database has no retention role: create role inquest_retention nologin; grant inquest_retention to inquest",
)  # fmt: skip
LIST = answered(InvestigationList, {"investigations": [_ROW], "next": "eyJjcmVhdGVkX2F0IjoiMjAyNi0wMy0wMVQxMDozMDowMVoifQ"})  # fmt: skip
ONE = answered(InvestigationShown, _ROW)
EVENTS: Responses = {
    200: {
        "model": EventList,
        "description": "A page of events, or with `Accept: text/event-stream` a stream of them until the end",
        "content": {
            "application/json": {"example": {"events": [_EVENT], "next": None}},
            "text/event-stream": {"schema": {"type": "string"}, "example": _STREAM},
        },
    },
    204: {"description": "To a stream that is taken up again: it has ended"},
}
REPORT: Responses = {
    200: {
        "model": Sheet,
        "description": "The report. As Markdown, or as HTML for a browser, it is the same report.",
        "content": {
            "application/json": {"example": _report()},
            "text/markdown": {
                "schema": {"type": "string"},
                "example": "# Incident report: `CheckoutErrorRatioHigh` of `checkout`\n",
            },
            "text/html": {"schema": {"type": "string"}, "example": "<!doctype html><title>Incident report</title>"},
        },
    }
}
BUNDLE: Responses = {
    200: {
        "description": "The bundle: an uncompressed tar, all of whose bytes are announced",
        "content": {
            "application/x-tar": {"schema": {"type": "string", "format": "binary"}, "example": "manifest.json"}
        },
    }
}
CANCELLED = answered(InvestigationShown, _CANCELLED, description="It is cancelled, now or since before")
ANSWERED = answered(InvestigationShown, _ANSWERED, description="The answer is recorded, and it is queued to go on")
RERUN: Responses = {
    **answered(InvestigationShown, _QUEUED, status=201, description="The new investigation"),
    **answered(InvestigationShown, _QUEUED, description="The one that was opened under this Idempotency-Key before"),
}
DELETED: Responses = {
    **answered(DeletedShown, _SENT, description="Nothing of its text is left here"),
    **answered(
        DeletedShown, {**_SENT, "state": "deleting", "stays": [], "note": ""}, status=202,
        description="It is gone for every reader; its text goes as soon as a message that is under way must be over",
    ),
}  # fmt: skip
POSTED: Responses = {
    **answered(PostTaken, _POSTED, status=202, description="Stored, whether or not it was understood"),
    **problem(400, "The bytes cannot be read", unreadable="the body is not gzip, or is cut off",
              cut_off="the sender went away in the middle of its body"),
    **problem(401, "Wrong or missing credentials", unauthorized="the bearer token is missing or wrong"),
    **problem(404, "No such intake", not_found="no such thing here"),
    **problem(408, "The body did not come in time", slow_body="the body was not there after 10 s"),
    **problem(413, "Too large, as sent or inflated", too_large="the body is larger than 16777216 bytes"),
    **problem(415, "A Content-Encoding that is not inflated",
              unknown_encoding="the body's Content-Encoding is not one of gzip, deflate, identity"),
    **BROKEN,
    **problem(503, "Send it again after Retry-After",
              overloaded="more posts than are taken at once: send it again later",
              unavailable="the database does not answer (no connection)"),
}  # fmt: skip
HALTS = answered(
    HaltList, {"halts": [{"workspace": None, "since": "2026-03-01T10:31:00Z", "actor": "operator"}]},
    description="What is halted now",
)  # fmt: skip
ALIVE = answered(Alive, {"status": "ok"})
READY: Responses = {
    **answered(Ready, {"status": "ready"}),
    **answered(
        Ready, {"status": "not ready", "missing": "the database does not answer"}, status=503,
        description="It could not; `missing` says why",
    ),
}  # fmt: skip
