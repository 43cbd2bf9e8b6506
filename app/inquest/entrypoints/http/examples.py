"""Examples and refusals for the OpenAPI document."""

from __future__ import annotations

from typing import Any

Responses = dict[int | str, dict[str, Any]]

ID = "0199a3c5f0a17c3e8b1d2f4a6c8e0b12"
_ROW: dict[str, Any] = {
    "id": ID,
    "workspace": "default",
    "episode_id": "0199a3c5f0a17c3e8b1d2f4a6c8e0b14",
    "opened_by": "alertmanager",
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
}
_EVENT = {
    "seq": 3,
    "batch_id": "0199a3c5f0a17c3e8b1d2f4a6c8e0b15",
    "generation": 1,
    "attempt": 1,
    "schema_version": 1,
    "body": {"kind": "generation_advanced", "owner_id": "w-2", "generation": 2, "attempt": 1, "why": "lease_expired"},
    "body_digest": "sha256:" + "0" * 64,
    "prev_digest": "sha256:" + "0" * 64,
    "committed_at": "2026-03-01T10:30:02Z",
}


def _json(example: object) -> Responses:
    return {200: {"content": {"application/json": {"example": example}}}}


def _problem(description: str, code: str, message: str) -> dict[str, Any]:
    example = {"error": {"code": code, "message": message}}
    return {"description": description, "content": {"application/json": {"example": example}}}


LIST = _json({"investigations": [_ROW], "next": "eyJjcmVhdGVkX2F0IjoiMjAyNi0wMy0wMVQxMDozMDowMVoifQ"})
ONE = _json(_ROW)
EVENTS = _json({"events": [_EVENT], "next": None})
REPORT: Responses = {
    200: {
        "description": "The report. As Markdown, or as HTML for a browser, it is the same report.",
        "content": {
            "application/json": {"example": {"forms_version": 1, "report": {"investigation_id": ID, "kind": "report"}}},
            "text/markdown": {"example": "# Incident report: `CheckoutErrorRatioHigh` of `checkout`\n"},
            "text/html": {"example": "<!doctype html><title>Incident report</title>"},
        },
    }
}
REFUSALS: Responses = {
    401: _problem("No or another token", "unauthorized", "this route needs the operator's bearer token"),
    404: _problem("Not here, or of another workspace", "not_found", "no such thing here"),
    422: _problem("A parameter that cannot be meant", "invalid", "query.since: needs a time zone"),
    503: _problem("The database does not answer", "unavailable", "the database does not answer"),
}
