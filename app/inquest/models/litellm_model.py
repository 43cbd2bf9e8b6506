"""Any provider that litellm speaks, behind the Model port. The only file that imports litellm.

litellm is imported by `load`, once, in the worker: it takes seconds and 190 MB, and without the flags set
here it goes to the network while it is imported. Its retries are off: attempts belong to whoever journals
them. Nothing of its exceptions but their kind leaves this file.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from inquest.domain.transcript import ModelRequest, Reply, Usage
from inquest.errors import ConfigurationError, ModelError
from inquest.models.failures import classify, model_error, parse_retry_after
from inquest.models.http_client import PROVIDER_HOSTS, pinned_client
from inquest.models.pricing import Price, cost_usd_micros
from inquest.models.wire_format import read_reply, to_parameters
from inquest.ports import ModelFailure

IMPORT_FLAGS = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "DISABLE_AIOHTTP_TRANSPORT": "True",
}
TOKEN_MARGIN = 1.15
"""For models whose tokenizer is not bundled, an OpenAI one counts; 15 % covers what was measured."""
TRY_NEXT = frozenset(
    {
        ModelFailure.OVERLOADED, ModelFailure.UNAVAILABLE, ModelFailure.TIMEOUT, ModelFailure.RATE_LIMITED,
        ModelFailure.QUOTA, ModelFailure.AUTHENTICATION, ModelFailure.BAD_REQUEST, ModelFailure.MALFORMED,
    }
)  # fmt: skip
"""After these the next model of the list is asked, within the same effect. An overflow or a refusal is ours."""


OWN_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
"""The loggers to which litellm gives handlers of its own when it is imported."""


@dataclass(frozen=True)
class ModelAccess:
    """How the models are reached. `context_window_tokens` and `price` are needed where litellm does not know them."""

    names: tuple[str, ...]
    base_url: str | None = None
    api_key: SecretStr | None = None
    context_window_tokens: int | None = None
    price: Price | None = None


def load() -> Any:  # noqa: ANN401  # a module
    """Import litellm without network, quiet, without its own retries. Idempotent."""
    for name, value in IMPORT_FLAGS.items():
        os.environ.setdefault(name, value)
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True
    litellm.drop_params = True
    litellm.num_retries = 0
    for name in OWN_LOGGERS:
        # Its own handlers print its texts, which quote requests; the root's handler prints their place alone.
        logging.getLogger(name).handlers.clear()
    return litellm


@dataclass
class LitellmModel:
    """The Model port over `access`. Build it with `create`."""

    access: ModelAccess
    _litellm: Any = field(repr=False)
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _pinned: list[httpx.AsyncClient] = field(default_factory=list, repr=False)

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:
        """Ask the models of `request` in order until one answers. Raises the last one's ModelError.

        One that hangs takes its share of the time, not that of the models after it.
        """
        last: ModelError = model_error(ModelFailure.BAD_REQUEST)
        ends_at = time.monotonic() + timeout_s
        for number, name in enumerate(request.models):
            share_s = (ends_at - time.monotonic()) / (len(request.models) - number)
            try:
                async with asyncio.timeout(share_s):
                    return await self._ask(name, request, share_s)
            except TimeoutError:
                last = model_error(ModelFailure.TIMEOUT)
            except ModelError as error:
                if error.kind not in TRY_NEXT:
                    raise
                last = error
        raise last

    async def _ask(self, name: str, request: ModelRequest, timeout_s: float) -> Reply:
        route = self._route(name)
        parameters = to_parameters(request, schema_supported=self._supports_schema(route))
        key = self.access.api_key.get_secret_value() if self.access.api_key else None
        try:
            answer = await self._litellm.acompletion(
                model=route,
                api_key=key,
                base_url=self.access.base_url,
                timeout=timeout_s,
                max_retries=0,
                num_retries=0,
                client=self._client(route, key),
                **parameters,
            )
            reply = read_reply(answer.model_dump(), model=name)
        except ModelError:
            raise
        except Exception as error:  # litellm raises what its dozens of adapters raise; none of it may pass
            raise _translated(error) from None
        return reply.but(cost_usd_micros=cost_usd_micros(reply.usage, self._price(route)))

    def _route(self, name: str) -> str:
        """Name the model as litellm does: behind a base URL, a bare name is OpenAI's protocol."""
        return f"openai/{name}" if self.access.base_url and "/" not in name else name

    def _client(self, route: str, key: str | None) -> Any:  # noqa: ANN401  # litellm's own types
        """Give the pinned client in the wrapping that the adapter of `route` takes."""
        provider = str(self._litellm.get_llm_provider(route)[1])
        if provider not in self._clients:
            pinned = pinned_client(self.access.base_url or f"https://{PROVIDER_HOSTS[provider]}")
            self._pinned.append(pinned)
            if provider in self._litellm.openai_compatible_providers or provider in {"openai", "custom_openai"}:
                openai = importlib.import_module("openai")
                self._clients[provider] = openai.AsyncOpenAI(
                    api_key=key or "none", base_url=self.access.base_url, http_client=pinned, max_retries=0
                )
            else:
                handler = importlib.import_module("litellm.llms.custom_httpx.http_handler")
                wrapped = handler.AsyncHTTPHandler()
                wrapped.client = pinned
                self._clients[provider] = wrapped
        return self._clients[provider]

    def hosts(self) -> tuple[str, ...]:
        """Name the hosts that requests go to."""
        if self.access.base_url is not None:
            return (urlsplit(self.access.base_url).netloc,)
        providers = [str(self._litellm.get_llm_provider(self._route(name))[1]) for name in self.access.names]
        return tuple(dict.fromkeys(PROVIDER_HOSTS[provider] for provider in providers))

    def check_providers(self) -> None:
        """Raise ConfigurationError where requests would go to a host that nobody has named, or a key to two providers."""
        if self.access.base_url is not None:
            return
        providers = {name: str(self._litellm.get_llm_provider(self._route(name))[1]) for name in self.access.names}
        for name, provider in providers.items():
            if provider not in PROVIDER_HOSTS:
                known = ", ".join(sorted(PROVIDER_HOSTS))
                msg = f"model.base_url: say where {name} is asked; without it only {known} are"
                raise ConfigurationError(msg)
        if len(set(providers.values())) > 1:
            msg = "model.names: they are of several providers, and one key must not go to all; give a base_url, or one provider"
            raise ConfigurationError(msg)

    def count_tokens(self, request: ModelRequest) -> int:
        """Over-estimate the input tokens of `request`: the tokenizer's count plus a margin."""
        parameters = to_parameters(request, schema_supported=False)
        route = self._route(request.models[0])
        counted = self._litellm.token_counter(
            model=route, messages=parameters["messages"], tools=parameters.get("tools")
        )
        return int(counted * TOKEN_MARGIN) + 1

    def window_tokens(self) -> int:
        """Give the smallest input window of the configured models."""
        if self.access.context_window_tokens is not None:
            return self.access.context_window_tokens
        return min(self._known_window(name) for name in self.access.names)

    def _known_window(self, name: str) -> int:
        info = self._info(self._route(name))
        window = info.get("max_input_tokens")
        if not isinstance(window, int):
            msg = f"model.context_window_tokens: litellm does not know {name}; say how many input tokens it takes"
            raise ConfigurationError(msg)
        return window

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        """Give what so many tokens cost with the dearest of the configured models."""
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        costs = [cost_usd_micros(usage, self._price(self._route(name))) for name in self.access.names]
        return max((cost for cost in costs if cost is not None), default=0)

    def check_price(self, name: str) -> None:
        """Raise ConfigurationError when nobody knows what `name` costs."""
        if self._price(self._route(name)) is None:
            msg = f"model.price: litellm does not know what {name} costs; give its price, 0 where it costs nothing"
            raise ConfigurationError(msg)

    def _price(self, route: str) -> Price | None:
        if self.access.price is not None:
            return self.access.price
        info = self._info(route)
        each = [info.get(key) for key in ("input_cost_per_token", "output_cost_per_token")]
        if not all(isinstance(one, int | float) for one in each):
            return None
        return Price(input_usd=float(each[0] or 0) * 1e6, output_usd=float(each[1] or 0) * 1e6)

    def _supports_schema(self, route: str) -> bool:
        return bool(self._litellm.supports_response_schema(model=route))

    def _info(self, route: str) -> dict[str, Any]:
        """Look `route` up in the bundled table; {} when it is not there."""
        try:
            return dict(self._litellm.get_model_info(route))
        except Exception:  # litellm raises a bare Exception for an unknown model
            return {}

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._pinned:
            await client.aclose()


def create(access: ModelAccess) -> LitellmModel:
    """Build the model. Raises ConfigurationError, a line each, for no name, an unknown provider, window or price.

    A model of unknown price would never reach a ceiling in dollars.
    """
    if not access.names:
        msg = "model.names: name at least one model, or leave the section out for the analyst"
        raise ConfigurationError(msg)
    if access.base_url is not None and urlsplit(access.base_url).scheme not in {"http", "https"}:
        msg = "model.base_url: must be http:// or https://"
        raise ConfigurationError(msg)
    model = LitellmModel(access, load())
    checks: list[Callable[[], object]] = [
        model.check_providers,
        model.window_tokens,
        *(partial(model.check_price, name) for name in access.names),
    ]
    problems = [problem for check in checks if (problem := _problem(check))]
    if problems:
        raise ConfigurationError("\n".join(problems))
    return model


def _problem(check: Callable[[], object]) -> str:
    """Give what `check` refuses, "" where it refuses nothing."""
    try:
        check()
    except ConfigurationError as error:
        return str(error)
    return ""


def _translated(error: Exception) -> ModelError:
    """Keep of a foreign exception its kind and how long to wait; its text may hold keys, prompts and answers."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModelError):
            return cause
        cause = cause.__cause__ or cause.__context__
    status = getattr(error, "status_code", None)
    kind = classify(status=status if isinstance(status, int) else None, type_name=type(error).__name__, text=str(error))
    waits = kind in {ModelFailure.RATE_LIMITED, ModelFailure.OVERLOADED}
    return model_error(kind, retry_after_ms=parse_retry_after(_retry_after(error)) if waits else None)


def _retry_after(error: Exception) -> str | None:
    """Find Retry-After where litellm leaves it: on its own headers, or on the response's."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if headers is not None and headers.get("retry-after"):
            return str(headers.get("retry-after"))
    return None
