"""Make `.venv` whole: Python, uv, the locked packages and Inquest itself, in that order.

Standard library only: it runs under the machine's own Python, before anything is installed. It
may be run again at any time. While it works the file `.venv/unfinished` exists; a run that finds
it makes the environment anew, because a killed installer leaves packages that look installed.
"""

import argparse
import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {"runtime": "requirements.lock", "dev": "requirements/dev.lock"}
# What is ready once a level is: the Makefile's stamps. A dev environment also serves the demo.
READY = {"uv": ("uv",), "runtime": ("uv", "runtime"), "dev": ("uv", "runtime", "dev")}
PROBE_TIMEOUT_S = 60
PROBE = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))"


class Environment:
    """The virtual environment of the checkout at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.unfinished = self.folder / "unfinished"
        self.made_in = self.folder / "made-in"

    def is_sound(self) -> bool:
        """Say whether it may be added to: complete, runnable, and made for this very folder."""
        if self.unfinished.exists() or not self.python.exists():
            return False
        if self.made_in.exists() and self.made_in.read_text(encoding="utf-8") != str(self.root):
            return False  # scripts and the .pth line hold the old folder
        try:
            probe = subprocess.run([self.python, "-c", PROBE], check=False, timeout=PROBE_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return probe.returncode == 0

    def make(self) -> None:
        """Begin it anew. The mark is there before the first file that could be left half written."""
        if self.folder.is_symlink():
            raise SystemExit(f"{self.folder} is a link; remove it or make it a folder of its own")
        if self.folder.exists():
            say("the environment in .venv is incomplete or was moved: making it anew")
            shutil.rmtree(self.folder)
        say(f"making .venv with Python {sys.version.split()[0]}")
        self.folder.mkdir()
        self.unfinished.touch()
        run(sys.executable, "-m", "venv", self.folder)

    def install(self, level: str) -> None:
        """Install what `level` locks. uv is fetched with hashes by pip, all else with hashes by uv."""
        self.unfinished.touch()
        for name in READY["dev"]:
            self._stamp(name).unlink(missing_ok=True)
        bootstrap = self.root / "requirements/bootstrap.lock"
        run(self.python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", bootstrap)
        if level in LOCKS:
            lock = self.root / LOCKS[level]
            say(f"installing {lock.relative_to(self.root)}")
            self._install_lock(lock)
            self._install_itself()
        self.made_in.write_text(str(self.root), encoding="utf-8")
        self.unfinished.unlink()
        for name in READY[level]:
            self._stamp(name).touch()

    def _stamp(self, name: str) -> Path:
        """Name the file that `make` compares with the locks."""
        return self.folder / f"ready-{name}"

    def _install_lock(self, lock: Path) -> None:
        hashed = ("--require-hashes", "-r", lock)
        uv = (self.folder / "bin" / "uv", "pip", "install", "--quiet", "--python", self.python)
        if run(*uv, "--compile-bytecode", *hashed, check=False):
            return
        # A mirror may be configured for pip alone; the hashes make the two equally strict.
        say("uv could not install the lock; trying pip with the same hashes")
        run(self.python, "-m", "pip", "install", "--quiet", *hashed)

    def _install_itself(self) -> None:
        """Install the project by its .pth line, with the build tools of the lock and no network."""
        uv = (self.folder / "bin" / "uv", "pip", "install", "--quiet", "--python", self.python)
        run(*uv, "--offline", "--no-build-isolation", "--no-deps", "-e", self.root)


def say(line: str) -> None:
    print(f"[venv] {line}", flush=True)


def run(*command: str | Path, check: bool = True) -> bool:
    """Run `command` from the repository and say whether it succeeded; when `check`, end on a failure."""
    done = subprocess.run(command, check=False, cwd=ROOT)
    if check and done.returncode != 0:
        raise SystemExit(f"[venv] failed with status {done.returncode}: {' '.join(map(str, command))}")
    return done.returncode == 0


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Keep a second `make` of the same checkout waiting. The kernel drops the lock of a killed run."""
    with (root / "Makefile").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("level", choices=tuple(READY))
    level: str = parser.parse_args().level
    environment = Environment(ROOT)
    with alone(ROOT):
        if not environment.is_sound():
            environment.make()
        environment.install(level)


if __name__ == "__main__":
    main()
