"""Errors as answers: one small JSON form, our own words, never a trace and never a foreign text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.responses import JSONResponse

from inquest.errors import (
    BadBody,
    BodyTooLarge,
    InquestError,
    NotFound,
    StoreUnavailable,
    Unauthorized,
    UnknownEncoding,
)
from inquest.telemetry import log, report_error

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

RETRY_AFTER_S = 5
STATUS: tuple[tuple[type[InquestError], int, str], ...] = (
    (Unauthorized, 401, "unauthorized"),
    (BodyTooLarge, 413, "too_large"),
    (UnknownEncoding, 415, "unknown_encoding"),
    (BadBody, 400, "unreadable"),
    (NotFound, 404, "not_found"),
    (StoreUnavailable, 503, "unavailable"),
)
"""The first row whose class fits decides. 429 is not among them: senders of alerts drop on it."""


def answer(status: int, code: str, message: str) -> JSONResponse:
    """Give an error as JSON: {"error": {"code", "message"}}."""
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}  # noqa: PLR2004  # Service Unavailable
    if status == 401:  # noqa: PLR2004  # Unauthorized
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


def add_handlers(app: FastAPI) -> None:
    """Let every exception of ours become its answer, and every other one a 500 that says nothing."""

    async def ours(_: Request, error: Exception) -> JSONResponse:
        for kind, status, code in STATUS:
            if isinstance(error, kind):
                message = "no such thing here" if kind is NotFound else str(error)
                return answer(status, code, message)
        return _unexpected(error)

    async def others(_: Request, error: Exception) -> JSONResponse:
        return _unexpected(error)

    app.add_exception_handler(InquestError, ours)
    app.add_exception_handler(Exception, others)


def _unexpected(error: Exception) -> JSONResponse:
    log().error("request_failed", error=type(error).__name__)
    report_error(error, tags={"where": "http"})
    return answer(500, "internal", "something in Inquest is broken; it has been reported where reports are on")
