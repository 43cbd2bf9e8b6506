"""The nursery from outside, and the processes that it has forked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(eq=False)
class Child:
    """One process of ours. `stopped` is set while it stands still, `ended` at its end; `code` is known then."""

    name: str
    pid: int
    log: Path
    is_armed: bool = False
    code: int = 0
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def lives(self) -> bool:
        """Say whether it has not ended."""
        return not self.ended.is_set()

    @property
    def answers(self) -> bool:
        """Say whether it lives and does not stand still."""
        return self.lives and not self.stopped.is_set()

    def go_on(self) -> None:
        """Continue it where it stands still."""
        self.stopped.clear()
        self.send(signal.SIGCONT)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to it, unless it is gone."""
        if self.lives:
            os.kill(self.pid, number)

    def said(self) -> str:
        """Give its log so far."""
        return self.log.read_text("utf-8", errors="replace") if self.log.exists() else ""


class Nursery:
    """The running parent."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._born = asyncio.Queue[int]()
        self._asking = asyncio.Lock()
        self.cpu_s = 0.0
        """What all children together have used; known at the end."""
        self._children: dict[int, asyncio.Future[Child]] = {}

    async def fork(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        is_armed: bool = False,
        twice: bool = False,
    ) -> Child:
        """Start `inquest` with `arguments`; nothing of our own environment's INQUEST_* is passed on."""
        asked = {"arguments": list(arguments), "environment": dict(environment), "log": str(log), "twice": twice}
        assert self._process.stdin is not None
        async with self._asking:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            pid = await self._born.get()
        child = Child(name, pid, log, is_armed)
        self._children[pid].set_result(child)
        return child

    async def listen(self) -> None:
        """Take note of what it says, until it ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            match json.loads(line):
                case {"born": pid}:
                    # Its end may come before whoever asked for it has been told.
                    self._children[pid] = asyncio.get_running_loop().create_future()
                    self._born.put_nowait(pid)
                case {"cpu_s": used}:
                    self.cpu_s = float(used)
                case {"stopped": pid}:
                    await self._known(pid, "stopped")
                case {"ended": pid, "code": code}:
                    await self._known(pid, "ended", code)
                case _:
                    pass

    async def _known(self, pid: int, what: str, code: int = 0) -> None:
        child = await self._children[pid]
        if what == "stopped":
            child.stopped.set()
        else:
            child.code = code
            child.ended.set()


@asynccontextmanager
async def nursery(mutant: str | None = None) -> AsyncIterator[Nursery]:
    """Run it for the length of a `with`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.crash.nursery",
        *([] if mutant is None else [mutant]),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdout.readline()  # it has imported everything
    made = Nursery(process)
    listening = asyncio.ensure_future(made.listen())
    try:
        yield made
    finally:
        process.stdin.close()
        await process.wait()
        await listening
