"""The three recorded servers behind one ASGI app: /prometheus, /loki and /gitlab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inquest.scenarios import bounds, http
from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.gitlab.api import GitlabApi
from inquest.scenarios.gitlab.throttle import Throttle
from inquest.scenarios.journal import RequestJournal, RequestRecord
from inquest.scenarios.loki.api import LokiApi
from inquest.scenarios.loki.lines import Lines
from inquest.scenarios.pack.format import Scenario, ServerName
from inquest.scenarios.prometheus.api import PrometheusApi
from inquest.scenarios.promql.samples import Samples

Server = Literal[""] | ServerName
Answer = Callable[[http.Request], http.Reply]


def answers_of(
    scenario: Scenario, *, clock: RecordedClock, gitlab_token: str, gitlab_requests_per_minute: int
) -> dict[Server, Answer]:
    """Give the three servers over `scenario`, whose times are those of `clock`."""
    prometheus = PrometheusApi(
        Samples(scenario.series),
        metadata=scenario.metadata,
        groups=scenario.groups,
        anchor=scenario.anchor,
        clock=clock,
    )
    loki = LokiApi(Lines(scenario.streams), clock=clock)
    gitlab = GitlabApi(
        scenario.changes,
        clock=clock,
        token=gitlab_token,
        throttle=Throttle(gitlab_requests_per_minute, clock=clock),
    )
    answers: dict[Server, Answer] = {"prometheus": prometheus.answer, "loki": loki.answer, "gitlab": gitlab.answer}
    return answers | dict.fromkeys(scenario.header.unreachable, _no_answer)


def _no_answer(_: http.Request) -> http.Reply:
    """Answer as the proxy in front of a server that is gone."""
    return http.text(503, "no healthy upstream")


@dataclass(frozen=True, slots=True)
class BackendApp:
    """The ASGI app: reads under a cap, answers in a thread, journals before it replies."""

    answers: dict[Server, Answer]
    journal: RequestJournal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request. Lifespan and websockets are off in the server."""
        incoming = HttpRequest(scope, receive)
        ordinal = self.journal.arrive()
        server, raw_path = self._server_of(scope)
        form, reply = "", None
        body = await _body(incoming)
        if body is None:
            reply = http.text(413, "http: request body too large\n")
        elif incoming.headers.get("content-type", "").partition(";")[0].strip().lower() == http.FORM:
            form = body.decode(errors="replace")
        try:
            if reply is None:
                reply = await self._reply(incoming, server, raw_path, form)
        finally:
            # What the code did not expect is journalled as the 500 that uvicorn makes of it.
            self.journal.add(
                RequestRecord(
                    ordinal=ordinal,
                    server=server,
                    method=incoming.method,
                    path=_raw_path(scope),
                    query=scope["query_string"].decode(errors="replace"),
                    form=form,
                    credential=_credential(incoming),
                    status=500 if reply is None else reply.status,
                )
            )
        await _response(reply)(scope, receive, send)

    def _server_of(self, scope: Scope) -> tuple[Server, str]:
        path = _raw_path(scope)
        for server in self.answers:
            prefix = f"/{server}"
            if path == prefix or path.startswith(f"{prefix}/"):
                return server, path.removeprefix(prefix) or "/"
        return "", path

    async def _reply(self, incoming: HttpRequest, server: Server, raw_path: str, form: str) -> http.Reply:
        if server == "":
            return http.text(404, "404 page not found\n", ("x-content-type-options", "nosniff"))
        parameters = http.parameters_of(incoming.url.query, form)
        if parameters is None:
            return http.text(400, f"more than {bounds.MAX_PARAMETERS} parameters\n")
        request = http.Request(
            method=incoming.method,
            raw_path=raw_path,
            parameters=parameters,
            headers={name.lower(): value for name, value in incoming.headers.items()},
            base_url=f"{incoming.url.scheme}://{incoming.url.netloc}/{server}",
        )
        return await run_in_threadpool(self.answers[server], request)


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode(errors="replace")


async def _body(incoming: HttpRequest) -> bytes | None:
    """Read the body; None when it is larger than we take."""
    body = bytearray()
    async for chunk in incoming.stream():
        body += chunk
        if len(body) > bounds.MAX_REQUEST_BODY_BYTES:
            return None
    return bytes(body)


def _credential(incoming: HttpRequest) -> Literal["none", "private-token", "bearer", "other"]:
    if "private-token" in incoming.headers:
        return "private-token"
    authorization = incoming.headers.get("authorization")
    if authorization is None:
        return "none"
    return "bearer" if authorization.lower().startswith("bearer ") else "other"


def _response(reply: http.Reply) -> Response:
    response = Response(reply.body, reply.status)
    if reply.status != 204:  # noqa: PLR2004 - No Content has no type
        response.headers["content-type"] = reply.content_type
    for name, value in reply.headers:
        response.headers[name] = value
    return response
