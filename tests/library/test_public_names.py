"""The public surface: what is listed is there, is in order, and comes without a database or a model's library."""

from __future__ import annotations

import subprocess
import sys

import inquest.library

HEAVY = ("sqlalchemy", "psycopg", "procrastinate", "alembic", "litellm", "fastapi", "uvicorn", "typer", "slack_sdk")


def test_every_name_of_the_surface_is_listed_once_and_is_there() -> None:
    listed = inquest.library.__all__

    assert len(set(listed)) == len(listed)
    assert [name for name in listed if getattr(inquest.library, name, None) is None] == []


def test_it_needs_no_database_no_web_framework_and_no_litellm() -> None:
    look = f"import sys, inquest.library; print([name for name in {HEAVY} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")
