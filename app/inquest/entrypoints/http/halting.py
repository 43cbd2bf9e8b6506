"""The kill switch: nothing begins, is asked or is sent while it is on; alerts are taken in."""

from collections.abc import Callable, Collection
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from inquest.entrypoints.http import examples
from inquest.entrypoints.http.readers import MAX_WORKSPACE_CHARS
from inquest.errors import NotFound
from inquest.store.halts import EVERYTHING, MAX_ACTOR_CHARS, Halt
from inquest.store.rules import OPERATOR
from inquest.telemetry import log


class Halts(Protocol):
    """What halts and resumes (`store.halts.PostgresHalts`)."""

    async def halt(self, workspace: str, *, actor: str) -> bool:
        """Halt; False when it was halted already."""

    async def resume(self, workspace: str) -> bool:
        """Resume; False when it was not halted."""

    async def standing(self) -> Collection[Halt]:
        """Give what is halted."""


def halting_router(halts: Halts, workspaces: Collection[str], *, operator: Callable[..., None]) -> APIRouter:
    """Give the routes that halt and resume. Each answers with what is halted then, and may be sent again."""
    router = APIRouter(prefix="/v1", tags=["halts"], dependencies=[Depends(operator)], responses=examples.HALT_REFUSALS)

    def named(
        workspace: Annotated[
            str | None,
            Query(description="Left out: everything", max_length=MAX_WORKSPACE_CHARS, examples=["default"]),
        ] = None,
    ) -> str:
        if workspace is not None and workspace not in workspaces:
            msg = "no such workspace"
            raise NotFound(msg)
        return EVERYTHING if workspace is None else workspace

    Named = Annotated[str, Depends(named)]  # noqa: N806  # a type
    By = Annotated[  # noqa: N806  # a type
        str, Query(description="Who asks for it, as it is shown", max_length=MAX_ACTOR_CHARS, examples=["ana"])
    ]

    async def now() -> JSONResponse:
        return JSONResponse(halts_shown(await halts.standing()))

    @router.get("/halts", summary="What is halted", responses=examples.HALTS)
    async def standing() -> JSONResponse:
        return await now()

    @router.post("/halt", summary="Let nothing begin, be asked or be sent", responses=examples.HALTS)
    async def halt(workspace: Named, by: By = OPERATOR) -> JSONResponse:
        if await halts.halt(workspace, actor=by):
            log().warning("work_halted", workspace=workspace or "all", by=by)
        return await now()

    @router.post("/resume", summary="End a halt", responses=examples.HALTS)
    async def resume(workspace: Named, by: By = OPERATOR) -> JSONResponse:
        if await halts.resume(workspace):
            log().warning("work_resumed", workspace=workspace or "all", by=by)
        return await now()

    return router


def halts_shown(halts: Collection[Halt]) -> dict[str, Any]:
    """Give what is halted as the API and `--json` show it; `workspace` is null for everything."""
    return {
        "halts": [
            {**halt.model_dump(mode="json"), "workspace": None if halt.workspace == EVERYTHING else halt.workspace}
            for halt in halts
        ]
    }
