"""Commands as processes of their own: started, watched, signalled, and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2

from inquest.settings import Settings
from tests.loopback import free_port
from tests.waiting import until

END_S = 60.0
BACKGROUND = ("/bin/sh", "-c", """trap "" INT; exec "$@" """, "sh")


class Beside:
    """One process. Its output is in files, so that it can be looked at while it runs."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def words(self) -> list[str]:
        """Give the word of each line of progress so far."""
        whole = self.out.rpartition("\n")[0].partition("\n# ")[0]
        return [line.split()[1] for line in whole.splitlines() if line[:2].isdigit()]

    async def says(self, word: str) -> None:
        """Wait for a line of progress with this word."""
        await until(lambda: word in self.words or self._must_live(), patience_s=END_S)

    async def logs(self, event: str) -> None:
        """Wait for a log line with this event."""
        await until(lambda: f'"{event}"' in self.err or self._must_live(), patience_s=END_S)

    async def ends(self) -> int:
        """Wait for its end and give its exit code."""
        await until(lambda: self.process.poll() is not None, patience_s=END_S)
        assert self.process.returncode is not None
        return self.process.returncode

    async def stops(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return await self.ends()

    def _must_live(self) -> bool:
        assert self.process.poll() is None, f"ended with {self.process.returncode}\n{self.out}\n{self.err}"
        return False


class Machine:
    """The folder and the environment of an installation, and its commands beside the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.home = folder / "home"
        known = {f"INQUEST_{name.upper()}" for name in Settings.model_fields}
        self.environment = {name: value for name, value in os.environ.items() if name not in known}
        self.set(HOME=str(self.home), PORT=str(self.port), CONFIG=str(folder / "inquest.yaml"))
        self._started = 0

    def set(self, **variables: str) -> None:
        self.environment.update({f"INQUEST_{name}": value for name, value in variables.items()})

    @contextlib.contextmanager
    def start(self, *arguments: str, in_background: bool = False) -> Iterator[Beside]:
        """Run a command beside the test; at the end of the `with` it is stopped if it still runs.

        By SIGTERM first: one that is killed leaves its embedded Postgres to whoever starts next. `in_background`: as a
        script's `&` does, with Ctrl-C ignored.
        """
        self._started += 1
        out, err = (self.folder / f"{arguments[0]}-{self._started}.{name}" for name in ("out", "err"))
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [*(BACKGROUND if in_background else ()), sys.executable, "-m", "inquest", *arguments], env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
        try:
            yield Beside(process, out, err)
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    async def ready(self) -> None:
        """Wait until the service can accept an alert."""
        async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:

            async def is_ready() -> bool:
                with contextlib.suppress(httpx2.TransportError):
                    return (await client.get(f"http://127.0.0.1:{self.port}/readyz")).status_code == 200
                return False

            await until(is_ready, patience_s=END_S)

    def processes(self) -> dict[int, str]:
        """Give every process of this installation by its id: what its command line or environment names our home."""
        home = os.fsencode(self.home)
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if command and (home in command or home in (entry / "environ").read_bytes()):
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode()
        return found

    def the(self, part: str) -> int:
        """Give the id of the one process whose command line has `part`."""
        (found,) = [number for number, command in self.processes().items() if part in command]
        return found
