"""Where a worker shows its metrics: nowhere unless told, to nobody else without a token, and never where another listens."""

from __future__ import annotations

import asyncio
import socket

import pytest
from pydantic import SecretStr

from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.listening import bound_sockets, check_metrics, metrics_sockets
from inquest.errors import ConfigurationError
from inquest.settings import Settings
from tests.entrypoints.cli.running import Cli

TOKEN = SecretStr("operator-CANARY-1")


def at(host: str, metrics_port: int | None, *, port: int = 8417, operator_token: SecretStr | None = None) -> Settings:
    return Settings(
        worker_metrics_host=host, worker_metrics_port=metrics_port, port=port, operator_token=operator_token
    )


def test_nothing_is_served_unless_a_port_is_given() -> None:
    check_metrics(at("0.0.0.0", None), beside_the_service=True)  # noqa: S104
    with metrics_sockets(Settings()) as sockets:
        assert sockets == []


def test_another_address_than_loopback_needs_the_operators_token() -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_WORKER_METRICS_HOST: 0\.0\.0\.0 is not a loopback"):
        check_metrics(at("0.0.0.0", 0), beside_the_service=False)  # noqa: S104
    check_metrics(at("0.0.0.0", 0, operator_token=TOKEN), beside_the_service=False)  # noqa: S104


def test_the_port_of_the_service_beside_it_is_refused_at_the_start(cli: Cli) -> None:
    cli.configure("http://127.0.0.1:9")
    cli.set(PORT="8417", WORKER_METRICS_PORT="8417")

    ran = cli.run("up")

    words = "INQUEST_WORKER_METRICS_PORT: 8417 is the port of the HTTP service; give the worker another, or 0\n"
    assert (ran.code, ran.err) == (Exit.USAGE, words)
    check_metrics(at("127.0.0.1", 8417, port=8417), beside_the_service=False)
    check_metrics(at("127.0.0.1", 0, port=0), beside_the_service=True)


def test_of_two_workers_on_one_port_the_second_is_told() -> None:
    with metrics_sockets(at("127.0.0.1", 0)) as sockets:
        port = sockets[0].getsockname()[1]
        taken = rf"^INQUEST_WORKER_METRICS_PORT: 127\.0\.0\.1:{port} cannot be listened on \(Address already in use\)"
        with pytest.raises(ConfigurationError, match=taken), metrics_sockets(at("127.0.0.1", port)):
            pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_an_answer_of_two_packets_does_not_wait_for_the_first_to_be_acknowledged(host: str) -> None:
    """Without TCP_NODELAY each answer of the service takes 40 ms, whatever the machine does."""
    undelayed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        undelayed.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bound_sockets(host, 0) as (listening,):
        async with await asyncio.start_server(accepted, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            assert await undelayed
            writer.close()
