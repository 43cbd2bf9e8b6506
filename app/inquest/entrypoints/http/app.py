"""The HTTP application: routes, error answers and headers. No redirect anywhere: senders lose alerts on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from typing_extensions import override

from inquest.entrypoints.http.access import operator_only
from inquest.entrypoints.http.acting import acting_router
from inquest.entrypoints.http.alerts import Door, alerts_router
from inquest.entrypoints.http.answering import answering_router
from inquest.entrypoints.http.exports import exports_router
from inquest.entrypoints.http.halting import Halts, halting_router
from inquest.entrypoints.http.health import Health, health_router
from inquest.entrypoints.http.investigations import investigations_router
from inquest.entrypoints.http.outermost import Outermost
from inquest.entrypoints.http.problems import add_handlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from inquest.entrypoints.http.readers import Reader
    from inquest.entrypoints.http.streams import Streams

ABOUT = "Alert in, report out: every claim cites evidence that code has checked."


@dataclass(frozen=True)
class HttpParts:
    """What the application is made of."""

    door: Door
    readers: Mapping[str, Reader]
    streams: Streams
    halts: Halts
    health: Health
    token: SecretStr | None
    release: str


class Api(FastAPI):
    """FastAPI, but for the examples of its document, out of which it drops whatever is null."""

    written: tuple[APIRoute, ...] = ()
    """Routes as they were written, with their examples."""

    @override
    def openapi(self) -> dict[str, Any]:
        """Give the document, with the examples as they were written."""
        document = super().openapi()
        for route in self.written:
            for method in route.methods or () if route.include_in_schema else ():
                _put_examples(document["paths"][route.path_format][method.lower()], route.responses)
        return document


def _put_examples(operation: dict[str, Any], written: Mapping[int | str, dict[str, Any]]) -> None:
    for status, answer in written.items():
        for media_type, content in answer.get("content", {}).items():
            told = {key: content[key] for key in ("example", "examples") if key in content}
            operation["responses"][str(status)]["content"][media_type].update(told)


def create_app(parts: HttpParts) -> FastAPI:
    """Assemble the application. Its OpenAPI document is at /openapi.json, for the operator."""
    operator = operator_only(parts.token)
    app = Api(
        title="Inquest", version=parts.release, description=ABOUT, redirect_slashes=False,
        docs_url=None, redoc_url=None, openapi_url=None,
    )  # fmt: skip
    routers = (
        alerts_router(parts.door),
        investigations_router(parts.readers, parts.streams, operator=operator),
        exports_router(parts.readers, operator=operator),
        acting_router(parts.readers, operator=operator, ids=parts.door.ids, metrics=parts.door.metrics),
        halting_router(parts.halts, parts.readers, operator=operator),
        answering_router(parts.readers, operator=operator, metrics=parts.door.metrics),
        health_router(parts.health, operator=operator),
    )
    for router in routers:
        app.include_router(router)
    app.written = tuple(route for router in routers for route in router.routes if isinstance(route, APIRoute))

    @app.get("/openapi.json", include_in_schema=False, dependencies=[Depends(operator)])
    async def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    app.add_middleware(Outermost)
    add_handlers(app)
    app.state.streams = parts.streams
    return app


def end_streams(app: object) -> None:
    """End what streams, so that a server that ends need not wait for it."""
    if isinstance(app, FastAPI):
        app.state.streams.close()
