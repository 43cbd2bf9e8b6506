"""Is the process alive, can it accept an alert, and what it has counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from inquest.telemetry import Metrics, exposition

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Ready = Callable[[], Awaitable[str | None]]
"""Gives None when an alert could be accepted now, else what is missing."""


def health_router(*, ready: Ready, metrics: Metrics, operator: Callable[..., None]) -> APIRouter:
    """Give /healthz and /readyz, open to probes, and /metrics for the operator."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="The process answers")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz", summary="An alert could be accepted now", responses={503: {"description": "It could not"}})
    async def readyz() -> JSONResponse:
        missing = await ready()
        if missing is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "missing": missing}, 503)

    @router.get("/metrics", summary="Metrics in Prometheus's text format", dependencies=[Depends(operator)])
    async def metrics_text() -> Response:
        return Response(exposition(metrics), media_type=METRICS_TYPE)

    return router
