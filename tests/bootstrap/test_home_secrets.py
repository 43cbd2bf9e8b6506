"""What a home shows of itself, in a traceback or a log."""

from __future__ import annotations

from inquest.bootstrap.home import Home
from inquest.runtime.keys import InstallationKey

PASSWORD = "hunter2-hunter2"


def test_neither_the_password_of_the_database_nor_the_key_is_shown() -> None:
    home = Home(
        url=f"postgresql://inquest:{PASSWORD}@db/inquest",
        key=InstallationKey((PASSWORD.encode() * 3)[:32]),
        is_embedded=False,
        keep_alive=lambda: None,
    )

    assert PASSWORD not in repr(home)
