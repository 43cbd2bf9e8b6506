"""Ports of this machine: one that is free, and whether somebody answers at one."""

from __future__ import annotations

import contextlib
import random
import socket

import httpx2

HOST = "127.0.0.1"
PORTS = 20_000, 32_768


def free_port() -> int:
    """Give a port that nobody listens on now, below those that the system gives to whoever connects meanwhile."""
    while True:
        port = random.randrange(*PORTS)  # noqa: S311  # no secret
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port


def answers(url: str) -> bool:
    """Say whether `url` answers 200 now."""
    try:
        return httpx2.get(url, timeout=5, trust_env=False).status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False
