"""GitLab's notes through python-gitlab, pinned: one address, no redirects, nothing of the environment, no retries.

python-gitlab blocks: everything here runs in a thread, and ends by itself at its deadline. What GitLab answers
becomes a value here, once; its words go no further.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import requests
from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from typing_extensions import override
from urllib3.exceptions import NewConnectionError

from inquest.crash import CrashPoint, reached
from inquest.domain.delivery import DeliveryFailed

CONNECT_TIMEOUT_S = 3.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""A page of notes: 20 of at most 1,000,000 characters would be more, and are not read."""
CHUNK_BYTES = 65_536
WRITES = frozenset({"POST", "PUT"})
HTTP_TIMEOUT, HTTP_TOO_MANY, HTTP_SERVER_ERROR = 408, 429, 500

T = TypeVar("T")


@dataclass(frozen=True)
class GitlabAccess:
    """Where GitLab is, and the token that writes the notes. `ca_file`: its authority, "" for the usual ones."""

    url: str
    token: SecretStr
    ca_file: str = ""


def asked(access: GitlabAccess, ask: Callable[[Gitlab], T], *, must_end_at: float) -> T | DeliveryFailed:
    """Call `ask` with a client. `must_end_at` is a moment of the monotonic clock, after which no request is begun."""
    with _session(access, must_end_at) as (session, adapter):
        client = Gitlab(
            access.url,
            private_token=access.token.get_secret_value(),
            ssl_verify=access.ca_file or True,
            keep_base_url=True,
            retry_transient_errors=False,
            session=session,
        )
        try:
            return ask(client)
        except GitlabError as error:
            return _refused(error, adapter.retry_after)
        except (TooLate, requests.RequestException, OSError) as error:
            return _unanswered(error)


class TooLate(Exception):  # not a RequestException: those leave open whether a note arrived
    """No time was left to begin a request."""


class PinnedAdapter(HTTPAdapter):
    """Sends what is below one address, follows nothing, and reads under a cap until its deadline."""

    def __init__(self, url: str, must_end_at: float) -> None:
        super().__init__()
        self._url = url.rstrip("/") + "/api/v4/"
        self._must_end_at = must_end_at
        self.retry_after: str = ""

    @override
    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        left_s = self._must_end_at - time.monotonic()
        if left_s <= 0:
            raise TooLate
        if not (request.url or "").startswith(self._url):
            msg = "not an address of the configured GitLab"
            raise requests.exceptions.InvalidURL(msg)
        response = super().send(
            request, stream=True, timeout=(min(CONNECT_TIMEOUT_S, left_s), left_s), verify=verify, cert=cert, proxies={}
        )
        reached(CrashPoint.C19 if request.method in WRITES else None)
        if response.is_redirect:
            response.close()
            raise requests.TooManyRedirects
        self.retry_after = response.headers.get("Retry-After", "")
        return _whole(response, self._body(response))

    def _body(self, response: requests.Response) -> bytes:
        """Read a whole body. Raises Timeout for one that drips past the deadline, ContentDecodingError for a huge one."""
        body = bytearray()
        for chunk in response.iter_content(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                response.close()
                raise requests.exceptions.ContentDecodingError
            if time.monotonic() > self._must_end_at:
                response.close()
                raise requests.Timeout
        return bytes(body)


def _whole(response: requests.Response, body: bytes) -> requests.Response:
    """Give the same answer with its body already read."""
    whole = requests.Response()
    whole.status_code, whole.reason = response.status_code, response.reason
    whole.headers, whole.encoding = response.headers, response.encoding
    whole.url, whole.request = response.url, response.request
    whole.raw = io.BytesIO(body)
    return whole


@contextmanager
def _session(access: GitlabAccess, must_end_at: float) -> Iterator[tuple[requests.Session, PinnedAdapter]]:
    adapter = PinnedAdapter(access.url, must_end_at)
    with requests.Session() as session:
        session.trust_env = False  # no proxy, no .netrc, no CA of the environment
        session.mount("https://", adapter)
        session.mount("http://", adapter)
        yield session, adapter


def _refused(error: GitlabError, retry_after: str) -> DeliveryFailed:
    status = error.response_code
    if status == HTTP_TOO_MANY:
        return DeliveryFailed(reason="GitLab asks to wait", retry=True, retry_after_ms=_ms(retry_after))
    if status is None or status == HTTP_TIMEOUT or status >= HTTP_SERVER_ERROR:
        return DeliveryFailed(reason="GitLab broke while it answered", retry=True, uncertain=True)
    return DeliveryFailed(reason=f"GitLab refuses it with HTTP {status}", retry=False)


def _unanswered(error: BaseException) -> DeliveryFailed:
    """Say why there is no answer, from the types in the chain of causes, never from their text."""
    match error:
        case TooLate():
            return DeliveryFailed(reason="no time was left to ask GitLab", retry=True)
        case requests.TooManyRedirects():
            return DeliveryFailed(
                reason="GitLab redirects: its url is another one, or the project has moved", retry=False
            )
        case requests.ConnectTimeout():
            return DeliveryFailed(reason="GitLab cannot be reached", retry=True)
        case _ if _never_connected(error):
            return DeliveryFailed(reason="GitLab cannot be reached", retry=True)
        case _:
            return DeliveryFailed(reason="GitLab gave no whole answer", retry=True, uncertain=True)


def _ms(said: str) -> int | None:
    return int(said) * 1_000 if said.isascii() and said.isdecimal() and len(said) < 8 else None  # noqa: PLR2004


def _never_connected(error: BaseException) -> bool:
    """Say whether no connection came to be: then nothing was sent. requests wraps it, and urllib3's reason in it."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, NewConnectionError):
            return True
        reason = getattr(seen, "reason", None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    return False
