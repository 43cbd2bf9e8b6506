"""Alembic's environment. It runs only through `inquest.store.migrate`, on a connection that holds the lock."""

from alembic import context

from inquest.store.migrate import SCHEMA, VERSION_TABLE


def run() -> None:
    """Run the pending versions in the transaction that the caller opened; the caller commits it."""
    connection = context.config.attributes.get("connection")
    if connection is None:
        raise SystemExit("run `inquest migrate`: alembic by itself holds neither the lock nor the transaction")
    context.configure(
        connection=connection,
        version_table=VERSION_TABLE,
        version_table_schema=SCHEMA,
        transactional_ddl=True,
        transaction_per_migration=False,
    )
    context.run_migrations()


run()
