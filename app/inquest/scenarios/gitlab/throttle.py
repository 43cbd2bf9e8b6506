"""A ceiling on requests a minute, answered as GitLab's does."""

from __future__ import annotations

from email.utils import formatdate
from threading import Lock

from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.http import Reply, text

_MINUTE_S = 60


class Throttle:
    """Counts requests in whole minutes of the recorded clock."""

    def __init__(self, requests_per_minute: int, *, clock: RecordedClock) -> None:
        self._allowed = requests_per_minute
        self._clock = clock
        self._minute = -1
        self._observed = 0
        self._lock = Lock()  # requests are answered in several threads

    def refusal(self) -> Reply | None:
        """Count one request; give the 429 when it is one too many."""
        with self._lock:
            seconds = self._clock.now_ms() // 1000
            if seconds // _MINUTE_S != self._minute:
                self._minute, self._observed = seconds // _MINUTE_S, 0
            self._observed += 1
            if self._observed <= self._allowed:
                return None
            reset = (self._minute + 1) * _MINUTE_S
            return text(
                429,
                "Retry later\n",
                ("ratelimit-limit", str(self._allowed)),
                ("ratelimit-name", "throttle_authenticated_api"),
                ("ratelimit-observed", str(self._observed)),
                ("ratelimit-remaining", "0"),
                ("ratelimit-reset", str(reset)),
                ("ratelimit-resettime", formatdate(reset, usegmt=True)),
                ("retry-after", str(reset - seconds)),
            )
