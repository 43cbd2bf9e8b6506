"""Asking a source that nobody has connected yet: a value, or a line that says what to do about it.

The door is the one of all evidence (`wire.transport`): one host, GET only here, no redirects, bounded. The words are
for whoever typed the command; the source's own words are not repeated.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from inquest.bootstrap.trial.access import Access, Reached
from inquest.connectors.loki import answers as loki
from inquest.connectors.prometheus import answers as prometheus
from inquest.connectors.shared.reading import Drift, Unreadable
from inquest.domain.failure import Failure, FailureCode
from inquest.domain.value import Json
from inquest.errors import ConfigurationError, InquestError
from inquest.ports import Clock
from inquest.wire.answer import Answer
from inquest.wire.transport import MAX_ANSWER_BYTES, Pairs, Segments, Transport

TIMEOUT_S = 15.0
"""One question of `try` itself; those of the investigation have their own."""
REDIRECTION = 3
"""The first digit of a status (RFC 9110 15)."""
SERVER_ERROR = 500


class SourceSilent(InquestError):
    """A source did not answer, or broke off: trying again may help."""


class SourceUnfit(ConfigurationError):
    """What answers is no such source, or does not let us in: an option must change."""


class Door:
    """Asks one source, by GET. Use it in an `async with`."""

    def __init__(self, reached: Reached, clock: Clock) -> None:
        self._access = reached.access
        self._clock = clock
        self._transport = Transport(reached.endpoint, reached.credential)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    async def data(self, path: Segments, params: Pairs = ()) -> Json:
        """Ask, and give the data of the answer. Raises SourceSilent, SourceUnfit."""
        answer = await self._transport.get(path, params, timeout_s=TIMEOUT_S)
        told = answer if isinstance(answer, Failure) else self._told(answer)
        if not isinstance(told, Failure):
            return told.data
        status = answer.status if isinstance(answer, Answer) else None
        cut = isinstance(answer, Answer) and answer.cut
        raise refusal(self._access, f"GET /{'/'.join(path)}", told, status=status, cut=cut)

    def _told(self, answer: Answer) -> prometheus.Told | loki.Told | Failure:
        read = prometheus.read_envelope if self._access.kind == "prometheus" else loki.read_envelope
        return read(answer, now=self._clock.now())

    def not_as_documented(self, path: Segments, error: Drift | Unreadable) -> SourceUnfit:
        """Give what to raise for an answer that is JSON of another shape."""
        what = f"{error.hint} of GET /{'/'.join(path)} is not as documented"
        return SourceUnfit(f"{_place(self._access)}: {what}; {_address(self._access)}")


def _place(access: Access) -> str:
    return f"{access.option} {access.url}"


def refusal(access: Access, asked: str, failed: Failure, *, status: int | None, cut: bool) -> InquestError:
    """Say in a line which source, what was asked, what came of it, and the way out."""
    begins = f"{_place(access)}: asked for {asked}"
    if status is None:
        return _without_answer(access, begins, failed)
    if cut:
        return SourceSilent(
            f"{begins}: the answer is larger than {MAX_ANSWER_BYTES // 1024**2} MiB and was not read on"
        )
    if failed.code is FailureCode.RATE_LIMITED or status >= SERVER_ERROR:
        return SourceSilent(f"{begins}: it answers HTTP {status}; try again when it is well")
    return SourceUnfit(f"{begins}: {_unfit(access, failed, status)}")


def _unfit(access: Access, failed: Failure, status: int) -> str:
    match status:
        case _ if failed.code is FailureCode.CONTEXT_MISMATCH:
            way = f"write its header (X-Scope-OrgID: NAME) into a file and name that by {access.prefix}headers-file"
            return f"it wants to know the tenant; {way}"
        case _ if status // 100 == REDIRECTION:
            where = f"it redirects elsewhere (HTTP {status}), which is never followed"
            return f"{where}; {_address(access)}, or where it wants a login, {_credentials(access)}"
        case 401 | 407:
            how = "does not take this credential" if access.has_credential else "wants a credential"
            return f"it {how} (HTTP {status}); {_credentials(access)}"
        case 403:
            return f"it does not allow this read (HTTP 403); {_credentials(access)}"
        case 404 | 405 | 410:
            return f"there is no such thing there (HTTP {status}); {_address(access)}"
        case _:
            return f"{failed.hint or failed.message} (HTTP {status}); {_address(access)}"


def _without_answer(access: Access, begins: str, failed: Failure) -> InquestError:
    why = failed.hint or failed.message
    if failed.hint.startswith("TLS: the certificate"):
        return SourceUnfit(f"{begins}: {why}; name the authority's certificate by --ca-file")
    if failed.code is FailureCode.MALFORMED_RESULT:
        return SourceUnfit(f"{begins}: {why}; {_address(access)}")
    return SourceSilent(f"{begins}: {why}; {_address(access)}, and that it can be reached from this machine")


def _address(access: Access) -> str:
    before = "/api/v1" if access.kind == "prometheus" else "/loki/api/v1"
    return f"check that {access.option} is what stands before {before}"


def _credentials(access: Access) -> str:
    ways = [f"{access.prefix}token-env or {access.prefix}token-file"]
    if access.kind == "prometheus":
        ways.append("--username with --password-env or --password-file")
    return f"give {', or '.join([*ways, f'{access.prefix}headers-file'])}"
