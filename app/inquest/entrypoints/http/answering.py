"""POST /v1/investigations/{id}/answer: the one answer of a question that an investigation waits for."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import Field, ValidationError
from starlette.requests import ClientDisconnect

from inquest.domain.budget import MAX_ANSWER_CHARS
from inquest.domain.value import Value
from inquest.entrypoints.answers import UnfitAnswer, fit_answer
from inquest.entrypoints.http import bodies, examples, problems
from inquest.entrypoints.http.bodies import Buffers, BuffersFull, SlowBody
from inquest.entrypoints.http.problems import BadParameter
from inquest.entrypoints.http.readers import ID, Reader, named_by
from inquest.entrypoints.shown import shown
from inquest.telemetry import Metrics, log

MAX_BODY_BYTES = 65_536
"""An answer of MAX_ANSWER_CHARS fits, however its client escapes it."""
MAX_BUFFERED_BYTES = 4 * 1024 * 1024
"""Bodies of all answers that are being read."""
READ_TIMEOUT_S = 10.0
MAX_INTERRUPT_CHARS = 200


class AnswerGiven(Value):
    """The body: which question, and what is answered."""

    interrupt_id: Annotated[str, Field(min_length=1, max_length=MAX_INTERRUPT_CHARS)]
    answer: Annotated[str, Field(min_length=1, max_length=MAX_ANSWER_CHARS)]


def answering_router(readers: Mapping[str, Reader], *, operator: Callable[..., None], metrics: Metrics) -> APIRouter:
    """Give the route. Its body is read under a cap, once it is known that an operator sends it."""
    router = APIRouter(
        prefix="/v1/investigations",
        tags=["investigations"],
        dependencies=[Depends(operator)],
        responses={**examples.REFUSALS, **examples.NOT_WAITING, **examples.UNREADABLE_ANSWER},
    )
    Act = Annotated[Reader, Depends(named_by(readers))]  # noqa: N806  # a type
    buffers = Buffers(MAX_BUFFERED_BYTES)

    @router.post(
        "/{investigation_id}/answer",
        summary="Answer the question that it waits for",
        responses=examples.ANSWERED,
        openapi_extra=_BODY,
    )
    async def answer(on: Act, investigation_id: ID, request: Request) -> Response:
        raw = await _read(request, buffers)
        if isinstance(raw, Response):
            return raw
        given = _given(raw)
        try:
            text = fit_answer(given.answer, on.redactor)
        except UnfitAnswer as unfit:
            raise BadParameter("body.answer", str(unfit)) from unfit
        await on.actions.answer(investigation_id, given.interrupt_id, text)
        metrics.questions.labels("answered").inc()
        log().info("question_answered", investigation=investigation_id)
        return JSONResponse(shown(await on.investigations.get(investigation_id)))

    return router


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "`interrupt_id` is that of the `question` that the investigation shows",
        "content": {
            "application/json": {"schema": AnswerGiven.model_json_schema(), "example": examples.ANSWER_BODY},
        },
    },
}


async def _read(request: Request, buffers: Buffers) -> bytes | Response:
    """Read the body, or give the answer to one that does not come. Raises BodyTooLarge."""
    announced = request.headers.get("content-length", "")
    try:
        with buffers.share() as share:
            return await bodies.read_body(
                request.stream(),
                share,
                announced=int(announced) if announced.isdecimal() and announced.isascii() else None,
                cap=MAX_BODY_BYTES,
                timeout_s=READ_TIMEOUT_S,
            )
    except ClientDisconnect:
        return problems.answer(400, "cut_off", "the sender went away in the middle of its body")
    except SlowBody:
        slow = problems.answer(408, "slow_body", f"the body was not there after {READ_TIMEOUT_S:g} s")
        slow.headers["Connection"] = "close"
        return slow
    except BuffersFull:
        return problems.answer(503, "overloaded", "more answers than are taken at once: send it again later")


def _given(raw: bytes) -> AnswerGiven:
    try:
        return AnswerGiven.parse(raw)
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in told]) from error
