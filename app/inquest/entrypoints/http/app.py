"""The HTTP application: routes, error answers and headers. No redirect anywhere: senders lose alerts on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from inquest.entrypoints.http.access import operator_only
from inquest.entrypoints.http.alerts import Door, alerts_router
from inquest.entrypoints.http.health import Ready, health_router
from inquest.entrypoints.http.investigations import Reader, investigations_router
from inquest.entrypoints.http.problems import add_handlers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pydantic import SecretStr

    from inquest.telemetry import Metrics

ABOUT = "Alert in, report out: every claim cites evidence that code has checked."


@dataclass(frozen=True)
class HttpParts:
    """What the application is made of."""

    door: Door
    readers: Mapping[str, Reader]
    ready: Ready
    metrics: Metrics
    token: SecretStr | None
    release: str


def create_app(parts: HttpParts) -> FastAPI:
    """Assemble the application. Its OpenAPI document is at /openapi.json, for the operator."""
    operator = operator_only(parts.token)
    app = FastAPI(
        title="Inquest", version=parts.release, description=ABOUT, redirect_slashes=False,
        docs_url=None, redoc_url=None, openapi_url=None,
    )  # fmt: skip
    app.include_router(alerts_router(parts.door))
    app.include_router(investigations_router(parts.readers, operator=operator))
    app.include_router(health_router(ready=parts.ready, metrics=parts.metrics, operator=operator))

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(operator)])
    async def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    @app.middleware("http")
    async def never_sniffed(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    add_handlers(app)
    return app
