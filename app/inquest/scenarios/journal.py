"""What a recorded backend was asked: one record a request, tokens masked."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Literal, Self, TextIO
from urllib.parse import unquote_plus

from inquest.domain.value import Value
from inquest.scenarios import bounds

MASK = "***"
_SECRET_NAMES = frozenset(
    {"private_token", "access_token", "job_token", "token", "password", "secret", "api_key", "apikey", "key"}
)


class RequestRecord(Value):
    """One request. `ordinal` counts arrivals from 1; `server` is "" for a path outside the three.

    `path` begins with the server's prefix and is percent-encoded as it was sent, as are `query` and `form`.
    """

    ordinal: int
    server: Literal["", "prometheus", "loki", "gitlab"]
    method: str
    path: str
    query: str
    form: str
    credential: Literal["none", "private-token", "bearer", "other"]
    status: int


class RequestJournal:
    """Keeps records in memory, and appends each to a file as a JSON line, flushed, when one is named.

    A record is complete before the first byte of its reply is sent: who saw an answer finds its record,
    whatever was killed since.
    """

    def __init__(self, *, secrets: tuple[str, ...] = (), file: Path | None = None) -> None:
        self._secrets = tuple(one for one in secrets if one)
        self._lock = Lock()
        self._arrived = 0
        self._records: list[RequestRecord] = []
        self.left_out = 0
        """How many records were not kept in memory, above the ceiling."""
        self._file: TextIO | None = file.open("a", encoding="utf-8") if file is not None else None

    def arrive(self) -> int:
        """Give the ordinal of a request that has just arrived."""
        with self._lock:
            self._arrived += 1
            return self._arrived

    def add(self, record: RequestRecord) -> None:
        """Keep `record`, its secrets masked."""
        masked = record.but(
            path=self._without_secrets(record.path),
            query=self.masked(record.query),
            form=self.masked(record.form),
        )
        with self._lock:
            if len(self._records) < bounds.MAX_JOURNAL_RECORDS:
                self._records.append(masked)
            else:
                self.left_out += 1
            if self._file is not None:
                self._file.write(masked.model_dump_json() + "\n")
                self._file.flush()

    @property
    def records(self) -> tuple[RequestRecord, ...]:
        """All kept records, in order of arrival."""
        with self._lock:
            return tuple(sorted(self._records, key=lambda one: one.ordinal))

    def close(self) -> None:
        """Close the file. May be called twice."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def masked(self, encoded: str) -> str:
        """Mask the values of secret names, and of anything that holds a known secret, in `a=b&c=d`."""
        shown = "&".join(self._masked_pair(pair) for pair in encoded.split("&"))
        if len(shown) > bounds.MAX_JOURNAL_TEXT_CHARS:
            kept = shown[: bounds.MAX_JOURNAL_TEXT_CHARS]
            return f"{kept}...({len(shown) - len(kept)} characters left out)"
        return shown

    def _masked_pair(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        if unquote_plus(name).lower() in _SECRET_NAMES or any(one in unquote_plus(value) for one in self._secrets):
            return f"{name}{equals}{MASK}"
        return self._without_secrets(pair)

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text
