"""The HTTP application: routes, error answers and headers. No redirect anywhere: senders lose alerts on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.responses import JSONResponse

from inquest.entrypoints.http.access import operator_only
from inquest.entrypoints.http.alerts import Door, alerts_router
from inquest.entrypoints.http.health import Health, health_router
from inquest.entrypoints.http.investigations import Reader, investigations_router
from inquest.entrypoints.http.outermost import Outermost
from inquest.entrypoints.http.problems import add_handlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

ABOUT = "Alert in, report out: every claim cites evidence that code has checked."


@dataclass(frozen=True)
class HttpParts:
    """What the application is made of."""

    door: Door
    readers: Mapping[str, Reader]
    health: Health
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
    app.include_router(health_router(parts.health, operator=operator))

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(operator)])
    async def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    app.add_middleware(Outermost)
    add_handlers(app)
    return app
