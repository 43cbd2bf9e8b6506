"""Errors as answers: one small JSON form, our own words, never a trace and never a foreign text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from inquest.errors import (
    BadBody,
    BodyTooLarge,
    Gone,
    InquestError,
    NotFound,
    ReplayMismatch,
    RoleMissing,
    StoreUnavailable,
    Unauthorized,
    UnknownEncoding,
    WrongStatus,
)
from inquest.telemetry import log, report_error

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from fastapi.routing import APIRoute

RETRY_AFTER_S = 5
MAX_PROBLEMS = 5
"""Of one request that are told."""
STATUS: tuple[tuple[type[InquestError], int, str], ...] = (
    (Unauthorized, 401, "unauthorized"),
    (BodyTooLarge, 413, "too_large"),
    (UnknownEncoding, 415, "unknown_encoding"),
    (BadBody, 400, "unreadable"),
    (Gone, 410, "deleted"),
    (NotFound, 404, "not_found"),
    (WrongStatus, 409, "wrong_status"),
    (RoleMissing, 501, "cannot_delete"),
    (ReplayMismatch, 500, "broken_journal"),
    (StoreUnavailable, 503, "unavailable"),
)
"""The first row whose class fits decides. 429 is not among them: senders of alerts drop on it."""
NOTHING_HERE = "no such thing here"
DELETED = "it was deleted"
OURS: dict[type[InquestError], str] = {NotFound: NOTHING_HERE, Gone: DELETED}
"""What is said in place of an error's own words."""
INTERNAL = "something in Inquest is broken; it has been reported where reports are on"


class BadParameter(Exception):
    """A part of a request is not one that can be meant. `where` is its name, as in "query.since"."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")


def answer(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Give an error as JSON: {"error": {"code", "message"}}."""
    sent = dict(headers or {})
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        sent["Retry-After"] = str(RETRY_AFTER_S)
    if status == HTTPStatus.UNAUTHORIZED:
        sent["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": {"code": code, "message": message}}, status, sent)


def unexpected(error: Exception) -> JSONResponse:
    """Report an exception that nobody expected, and give the 500 that says nothing of it."""
    log().error("request_failed", error=type(error).__name__)
    report_error(error, tags={"where": "http"})
    return answer(500, "internal", INTERNAL)


def add_handlers(app: FastAPI) -> None:
    """Let every exception become its answer: ours by the table, the framework's in the same form."""

    async def ours(_: Request, error: Exception) -> JSONResponse:
        for kind, status, code in STATUS:
            if isinstance(error, kind):
                return answer(status, code, OURS.get(kind, str(error)))
        return unexpected(error)

    async def refused(_: Request, error: Exception) -> JSONResponse:
        return answer(422, "invalid", _told(error))

    async def framework(request: Request, error: Exception) -> JSONResponse:
        return _of_the_framework(request, error) if isinstance(error, HTTPException) else unexpected(error)

    async def others(_: Request, error: Exception) -> JSONResponse:
        return unexpected(error)

    app.add_exception_handler(InquestError, ours)
    app.add_exception_handler(RequestValidationError, refused)
    app.add_exception_handler(BadParameter, refused)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(Exception, others)


def _told(error: Exception) -> str:
    """Name what is wrong with which part of a request. The value itself is not repeated."""
    if not isinstance(error, RequestValidationError):
        return str(error)
    problems = error.errors()
    told = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in problems[:MAX_PROBLEMS]]
    more = len(problems) - len(told)
    return "; ".join([*told, f"and {more} more"] if more else told)


def _of_the_framework(request: Request, error: HTTPException) -> JSONResponse:
    """Give 404 and 405 as the router raises them, in our form and our words."""
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        error.headers = {"Allow": ", ".join(allowed(request)) or "GET"}
    code = HTTPStatus(error.status_code)
    words = {HTTPStatus.NOT_FOUND: NOTHING_HERE, HTTPStatus.METHOD_NOT_ALLOWED: "not by this method"}
    return answer(code, code.name.lower(), words.get(code, code.phrase.lower()), error.headers)


def allowed(request: Request) -> list[str]:
    """List the methods that the path of a request has, in all routers: the framework names those of one route."""
    routes: Sequence[APIRoute] = getattr(request.app, "written", ())
    found = (route.methods or () for route in routes if route.path_regex.match(request.url.path))
    return sorted({method for methods in found for method in methods})
