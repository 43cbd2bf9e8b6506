"""The tool of every connector: the checks before, one page from the vendor, the observation after.

A vendor brings two functions: `arrange` (its arguments, checked beyond the schema and with defaults filled;
pure) and `fetch` (one page). Everything that all vendors must do alike is here, so that none can leave it out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Context, Error, Ok, Partial, Query
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.ports import Clock, InvalidQuery, Reading
from inquest.wire.apart import apart
from inquest.wire.ask import Ask, Page
from inquest.wire.cursor import MAX_PROVIDER_CURSOR_CHARS, CursorKey, PageCursor
from inquest.wire.observe import Asked, Observed, observe
from inquest.wire.redaction import Redactor
from inquest.wire.refusals import MAX_HINT_CHARS, MAX_SPAN, context_refusal, page_of, text_refusal, window_refusal
from inquest.wire.transport import Transport

FRAME_ARGUMENTS = ("start", "end", "limit", "cursor")
"""Arguments that a schema may offer and that are the query's own, not the tool's."""

Arguments = dict[str, Json]
Arrange = Callable[[Arguments, Window], Arguments]
"""(arguments that fit the schema, time range) -> the arguments of the query. Applying it again changes
nothing. Raises InvalidQuery with a hint of ours."""
Fetch = Callable[[Ask], Awaitable[Page | Failure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What all tools of one connector stand on."""

    context: Context
    transport: Transport
    clock: Clock
    cursor_key: CursorKey
    redactor: Redactor
    max_span: timedelta = MAX_SPAN


class ReadTool:
    """One read operation (ports.Tool)."""

    def __init__(self, spec: ToolSpec, grounds: Grounds, *, arrange: Arrange, fetch: Fetch) -> None:
        self.spec = spec
        self._grounds = grounds
        self._arrange = arrange
        self._fetch = fetch
        self._schema = Draft202012Validator(_own_schema(spec.parameters))

    def prepare(self, arguments: Mapping[str, object], query: Query) -> Query:
        """Check `arguments` and give `query` with them, defaults filled. Raises InvalidQuery.

        A secret is refused here, before the query is planned and so recorded; no hint repeats one.
        """
        wrong = next(iter(self._schema.iter_errors(dict(arguments))), None)
        if wrong is not None:
            place = ".".join(str(step)[:64] for step in wrong.absolute_path) or "arguments"
            raise InvalidQuery(f"{place}: does not fit the tool's schema ({wrong.validator})")
        given: Arguments = {name: _json(value) for name, value in arguments.items() if value is not None}
        refused = text_refusal(query.service_id, given, self._grounds.redactor)
        if refused is not None:
            raise InvalidQuery(refused.hint)
        try:
            return query.but(arguments=self._arrange(given, query.time_range))
        except InvalidQuery as error:
            raise InvalidQuery(self._grounds.redactor.text(error.hint)[:MAX_HINT_CHARS]) from error

    async def read(self, context: Context, query: Query) -> Reading:
        """Read one page. A failure is an outcome; CancelledError passes."""
        ready = self._ready(context, query)
        if isinstance(ready, Failure):
            return Reading(outcome=Error(error=ready), contents={}, exchanges=0)
        prepared, cursor = ready
        ask = self._ask(prepared, cursor)
        try:
            async with asyncio.timeout(ask.seconds_left):
                page = await self._fetch(ask)
                if isinstance(page, Failure):
                    return Reading(outcome=Error(error=page), contents={}, exchanges=ask.exchanges)
                # In a thread: a large answer takes seconds, and the worker renews its lease meanwhile.
                observed = await apart(self._observe, page, prepared, cursor)
        except TimeoutError:
            return Reading(outcome=Error(error=ask.late()), contents={}, exchanges=ask.exchanges)
        except ValidationError:
            drift = failure(FailureCode.SCHEMA_DRIFT, "the answer does not fit the shape it is kept in")
            return Reading(outcome=Error(error=drift), contents={}, exchanges=ask.exchanges)
        return self._reading(page, observed, prepared, cursor, ask.exchanges)

    def _ready(self, context: Context, query: Query) -> tuple[Query, PageCursor | None] | Failure:
        """Make every check that needs no source. Gives the query as it will be sent, and its page."""
        grounds = self._grounds
        refused = context_refusal(context, grounds.context, grounds.redactor)
        if refused is None and query.tool != self.spec.name:
            refused = failure(FailureCode.CAPABILITY_DENIED, "tool: not one of this connector")
        refused = refused or window_refusal(query, grounds.clock.now(), grounds.max_span)
        if refused is not None:
            return refused
        try:
            prepared = self.prepare(query.arguments, query)
        except InvalidQuery as error:
            return failure(FailureCode.INVALID_QUERY, error.hint)
        page = page_of(prepared, context, grounds.cursor_key)
        return page if isinstance(page, Failure) else (prepared, page)

    def _ask(self, query: Query, cursor: PageCursor | None) -> Ask:
        grounds = self._grounds
        return Ask(
            query=query,
            context=grounds.context,
            transport=grounds.transport,
            clock=grounds.clock,
            deadline=grounds.clock.monotonic() + query.budget.timeout_ms / 1000,
            cursor=None if cursor is None else cursor.provider,
            page=1 if cursor is None else cursor.page,
        )

    def _observe(self, page: Page, query: Query, cursor: PageCursor | None) -> Observed:
        grounds = self._grounds
        asked = Asked(
            query=query,
            context=grounds.context,
            spec=self.spec,
            expression=page.expression,
            retrieved_at=grounds.clock.now(),
            room=query.budget.max_bytes - (0 if cursor is None else cursor.bytes_used),
        )
        return observe(page.content, asked, grounds.redactor, error=page.error, cut=page.cut)

    def _reading(
        self, page: Page, observed: Observed, query: Query, cursor: PageCursor | None, exchanges: int
    ) -> Reading:
        observation = observed.observation
        error, following = page.error, None
        if page.next is not None and len(page.next) > MAX_PROVIDER_CURSOR_CHARS:
            error = error or failure(FailureCode.MALFORMED_RESULT, "the source's cursor is too long to be used")
        elif page.next is not None:
            number = 2 if cursor is None else cursor.page + 1
            used = (0 if cursor is None else cursor.bytes_used) + observation.truncation.kept_bytes
            offered = PageCursor(provider=page.next, page=number, bytes_used=used)
            following = self._grounds.cursor_key.seal(query, self._grounds.context, offered)
        outcome = (
            Ok(observations=(observation,), next_cursor=following)
            if error is None
            else Partial(observations=(observation,), error=error, next_cursor=following)
        )
        return Reading(outcome=outcome, contents={observation.digest: observed.content}, exchanges=exchanges)


def _own_schema(parameters: dict[str, Json]) -> dict[str, Json]:
    """Give the schema of the tool's own arguments: without what the query itself carries."""
    properties = parameters.get("properties")
    required = parameters.get("required")
    return {
        **parameters,
        "properties": {
            name: rule
            for name, rule in (properties.items() if isinstance(properties, dict) else ())
            if name not in FRAME_ARGUMENTS
        },
        "required": [name for name in (required if isinstance(required, list) else ()) if name not in FRAME_ARGUMENTS],
    }


def _json(value: object) -> Json:
    """Take a value that fitted a JSON Schema as JSON."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_json(item) for item in value]
        case dict():
            return {str(name): _json(item) for name, item in value.items()}
        case _:
            raise InvalidQuery("arguments: write JSON")
