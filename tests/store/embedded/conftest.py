import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from inquest.store.embedded.binaries import find_binaries
from tests.postgres import fast_folder
from tests.store.embedded.hosts import Place


def _ordinary_user() -> int:
    """Give the id of an ordinary user: of whoever runs the tests, if that is one already."""
    if os.geteuid() != 0:
        return os.geteuid()
    for name in ("daemon", "nobody"):
        with contextlib.suppress(KeyError, PermissionError):
            uid = pwd.getpwnam(name).pw_uid
            subprocess.run(
                [find_binaries() / "postgres", "--version"],
                user=uid,
                group=uid,
                cwd="/",
                check=True,
                capture_output=True,
            )
            return uid
    pytest.skip("no unprivileged account here can run the Postgres of this environment")


@pytest.fixture(scope="session", params=["root", "user"])
def uid(request: pytest.FixtureRequest) -> int:
    """Run the test twice: with servers of root and with servers of an ordinary user."""
    if request.param == "user":
        return _ordinary_user()
    if os.geteuid() != 0:
        pytest.skip("only root can start servers as root")
    return 0


@contextlib.contextmanager
def _a_place(uid: int) -> Iterator[Place]:
    if sys.platform != "linux":
        pytest.skip("these tests look at processes through /proc")
    # Not tmp_path: other users cannot enter it, and its name is long.
    root = Path(tempfile.mkdtemp(prefix="inquest-test-", dir=fast_folder())).resolve()
    if uid != os.geteuid():
        os.chown(root, uid, uid)
    try:
        yield Place(root, uid)
    finally:
        shutil.rmtree(root)


@pytest.fixture(scope="session")
def _used_place(uid: int) -> Iterator[Place]:
    with _a_place(uid) as place:
        yield place


@pytest.fixture
def place(_used_place: Place) -> Iterator[Place]:
    """A place that other tests use too, since making a cluster takes its time; no server runs in it."""
    yield _used_place
    _used_place.settle()


@pytest.fixture
def new_place(uid: int) -> Iterator[Place]:
    """A place where no server has run yet."""
    with _a_place(uid) as place:
        yield place
        place.settle()


@pytest.fixture
def own_place() -> Iterator[Place]:
    """A new place of the user who runs the tests."""
    with _a_place(os.geteuid()) as place:
        yield place
        place.settle()


@pytest.fixture
def root_place(own_place: Place) -> Place:
    """A new place of root."""
    if os.geteuid() != 0:
        pytest.skip("only root can start servers as root")
    return own_place
