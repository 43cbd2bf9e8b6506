"""Is the process alive, can it accept an alert, and what it has counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from inquest.entrypoints.http import examples

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METRICS = {
    "content": {METRICS_TYPE: {"schema": {"type": "string"}, "example": 'inquest_queued{workspace="default"} 0.0\n'}}
}


@dataclass(frozen=True)
class Health:
    """What is asked of the process.

    `missing` gives None when an alert could be accepted now, else what is missing; it answers within
    a few seconds whatever the database does. `exposition` gives the metrics as Prometheus reads them.
    """

    missing: Callable[[], Awaitable[str | None]]
    exposition: Callable[[], Awaitable[bytes]]


def health_router(health: Health, *, operator: Callable[..., None]) -> APIRouter:
    """Give /healthz and /readyz, open to probes, and /metrics for the operator."""
    router = APIRouter(tags=["health"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", summary="The process answers", responses=examples.ALIVE)
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @router.head("/readyz", include_in_schema=False)
    @router.get(
        "/readyz",
        summary="An alert could be accepted now",
        responses=examples.READY,
    )
    async def readyz() -> JSONResponse:
        missing = await health.missing()
        if missing is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "missing": missing}, 503)

    @router.get(
        "/metrics",
        summary="Metrics in Prometheus's text format",
        dependencies=[Depends(operator)],
        response_class=Response,
        responses={**examples.OPERATOR, 200: _METRICS},
    )
    async def metrics_text() -> Response:
        return Response(await health.exposition(), media_type=METRICS_TYPE)

    return router
