"""Cancelling, running again and deleting an investigation. Each may be sent again after a lost answer."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from fastapi.responses import JSONResponse

from inquest.entrypoints.http import examples
from inquest.entrypoints.http.readers import ID, Reader, named_by
from inquest.entrypoints.shown import shown
from inquest.ports import Ids
from inquest.store.actions import KEY_PATTERN, MAX_KEY_CHARS, Deleted
from inquest.store.rules import ASKED
from inquest.telemetry import Metrics, log

STAYS = "what was delivered stays where it was sent: take it away there"


def acting_router(
    readers: Mapping[str, Reader], *, operator: Callable[..., None], ids: Ids, metrics: Metrics
) -> APIRouter:
    """Give the routes under /v1/investigations that change something."""
    router = APIRouter(
        prefix="/v1/investigations",
        tags=["investigations"],
        dependencies=[Depends(operator)],
        responses={**examples.REFUSALS, **examples.WRONG_STATUS},
    )
    Act = Annotated[Reader, Depends(named_by(readers))]  # noqa: N806  # a type

    @router.post("/{investigation_id}/cancel", summary="End it where it stands", responses=examples.CANCELLED)
    async def cancel(on: Act, investigation_id: ID) -> JSONResponse:
        if await on.actions.cancel(investigation_id):
            metrics.investigations.labels("cancelled", ASKED).inc()
            log().info("investigation_cancelled", investigation=investigation_id)
        return JSONResponse(shown(await on.investigations.get(investigation_id)))

    @router.post(
        "/{investigation_id}/rerun",
        summary="Investigate its episode once more",
        status_code=201,
        responses=examples.RERUN,
    )
    async def rerun(
        on: Act,
        investigation_id: ID,
        idempotency_key: Annotated[
            str | None,
            Header(
                alias="Idempotency-Key", min_length=1, max_length=MAX_KEY_CHARS, pattern=KEY_PATTERN, examples=["7b1c2f4e"],
                description="Any name for this re-run: sent again with it, it is one",
            ),
        ] = None,
    ) -> JSONResponse:  # fmt: skip
        found = await on.actions.rerun(investigation_id, ids.new(), key=idempotency_key or "", ceilings=on.ceilings)
        if found.opened:
            log().info("investigation_run_again", investigation=investigation_id, opened=found.investigation_id)
        row = await on.investigations.get(found.investigation_id)
        return JSONResponse(shown(row), 201 if found.opened else 200)

    @router.delete(
        "/{investigation_id}",
        summary="Delete it, once it has ended",
        responses={**examples.DELETED, **examples.CANNOT_DELETE},
    )
    async def delete(on: Act, investigation_id: ID) -> JSONResponse:
        deleted = await on.actions.delete(investigation_id)
        log().info("investigation_deleted", investigation=investigation_id, purged=deleted.purged)
        return JSONResponse(told(deleted), 200 if deleted.purged else 202)

    return router


def told(deleted: Deleted) -> dict[str, Any]:
    """Say what became of a deleted investigation, and what of it is left where it was sent."""
    return {
        "id": deleted.investigation_id,
        "state": "deleted" if deleted.purged else "deleting",
        "stays": [one.model_dump(mode="json") for one in deleted.sent],
        "note": STAYS if deleted.sent else "",
    }
