"""Play a recorded incident back over real HTTP: in a thread of this process, or as one of its own.

python -m inquest.scenarios.server checkout_pool --port 9900 --journal requests.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Final, Self

import uvicorn

from inquest.domain.value import from_epoch_ms, rfc3339
from inquest.errors import ConfigurationError, InvariantBroken
from inquest.scenarios import bounds
from inquest.scenarios.backend import BackendApp, answers_of
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.journal import RequestJournal, RequestRecord
from inquest.scenarios.moments import rfc3339_ns
from inquest.scenarios.pack.format import Scenario
from inquest.scenarios.pack.shift import ending_at

HOST: Final = "127.0.0.1"
RECORDED_GITLAB_TOKEN: Final = "recorded-backend-token"  # noqa: S105 - it opens recordings on loopback, nothing else


@dataclass(frozen=True, slots=True)
class RecordedBackend:
    """A running recorded backend. `scenario` is the recording as served: moved in time."""

    scenario: Scenario
    gitlab_token: str
    port: int
    _journal: RequestJournal
    _server: uvicorn.Server
    _thread: Thread

    @property
    def prometheus_url(self) -> str:
        """The base URL of the Prometheus, without a slash at its end."""
        return f"http://{HOST}:{self.port}/prometheus"

    @property
    def loki_url(self) -> str:
        """The base URL of the Loki, without a slash at its end."""
        return f"http://{HOST}:{self.port}/loki"

    @property
    def gitlab_url(self) -> str:
        """The base URL of the GitLab, without a slash at its end; its API is at /api/v4 below."""
        return f"http://{HOST}:{self.port}/gitlab"

    @property
    def alert(self) -> bytes:
        """The body that the sender of the alert posts, with the times as served."""
        return self.scenario.alert

    @property
    def journal(self) -> tuple[RequestRecord, ...]:
        """Every request so far, in order of arrival, tokens masked."""
        return self._journal.records

    def stop(self) -> None:
        """Stop serving and wait for it. May be called twice. Raises InvariantBroken when it does not end."""
        self._server.should_exit = True
        self._thread.join(bounds.STOP_TIMEOUT_S)
        if self._thread.is_alive():
            raise InvariantBroken("the recorded backend did not stop in time")
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    scenario: Scenario,
    *,
    now: datetime,
    port: int = 0,
    journal_file: Path | None = None,
    gitlab_token: str = RECORDED_GITLAB_TOKEN,
    gitlab_requests_per_minute: int = bounds.DEFAULT_REQUESTS_PER_MINUTE,
) -> RecordedBackend:
    """Serve `scenario` in a thread, moved so that its present (`ends_at`) is `now` and ticks on from there.

    Returns when it answers. Port 0 takes a free one. Raises ConfigurationError when the port is taken.
    """
    listening = _listen(port)
    served = ending_at(scenario, now)
    journal = RequestJournal(secrets=(gitlab_token,), file=journal_file)
    server = _server(served, journal, now, gitlab_token, gitlab_requests_per_minute)
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), name="recorded-backend", daemon=True)
    thread.start()
    deadline = time.monotonic() + bounds.START_TIMEOUT_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            server.should_exit = True
            raise InvariantBroken("the recorded backend did not start")
        time.sleep(0.005)
    taken: int = listening.getsockname()[1]
    return RecordedBackend(served, gitlab_token, taken, journal, server, thread)


def _listen(port: int) -> socket.socket:
    # With the protocol said: asyncio sets TCP_NODELAY on no other, and an answer's second packet then waits 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as taken:
        listening.close()
        raise ConfigurationError(f"port {port} on {HOST} cannot be listened on; choose another --port") from taken
    return listening


def _server(
    scenario: Scenario, journal: RequestJournal, now: datetime, token: str, requests_per_minute: int
) -> uvicorn.Server:
    answers = answers_of(
        scenario, clock=RecordedClock(now), gitlab_token=token, gitlab_requests_per_minute=requests_per_minute
    )
    return uvicorn.Server(
        uvicorn.Config(
            BackendApp(answers, journal),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=bounds.MAX_CONNECTIONS,
            timeout_graceful_shutdown=int(bounds.STOP_TIMEOUT_S / 2),
        )
    )


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal ends the process; write the addresses as one JSON line once it listens."""
    parser = argparse.ArgumentParser(prog="python -m inquest.scenarios.server", description=__doc__)
    parser.add_argument("pack", help="a built-in recording, or a scenario folder")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--journal", type=Path, help="append every request to this file, a JSON line each")
    parser.add_argument("--seed", type=int, default=0, help="which variation of a built-in recording")
    parser.add_argument("--now", help="RFC 3339; where the present of the recording lands (default: now)")
    parser.add_argument("--alert", type=Path, help="write the alert's body, times moved, to this file")
    parser.add_argument("--gitlab-requests-per-minute", type=int, default=bounds.DEFAULT_REQUESTS_PER_MINUTE)
    asked = parser.parse_args(arguments)
    try:
        now = _moment(asked.now)
        scenario = ending_at(open_scenario(asked.pack, seed=asked.seed), now)
        listening = _listen(asked.port)
    except ConfigurationError as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 3
    if asked.alert is not None:
        asked.alert.write_bytes(scenario.alert)
    url = f"http://{HOST}:{listening.getsockname()[1]}"
    addresses = {name: f"{url}/{name}" for name in ("prometheus", "loki", "gitlab")}
    with RequestJournal(secrets=(RECORDED_GITLAB_TOKEN,), file=asked.journal) as journal:
        server = _server(scenario, journal, now, RECORDED_GITLAB_TOKEN, asked.gitlab_requests_per_minute)
        listening.listen()  # who reads the line below may connect at once
        sys.stdout.write(json.dumps({**addresses, "now": rfc3339(now), "anchor": rfc3339(scenario.anchor)}) + "\n")
        sys.stdout.flush()
        server.run(sockets=[listening])
    return 0


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    nanoseconds = rfc3339_ns(text)
    if nanoseconds is None:
        raise ConfigurationError(f"--now: {text} is not an RFC 3339 time")
    return from_epoch_ms(nanoseconds // 1_000_000)


if __name__ == "__main__":
    sys.exit(main())
