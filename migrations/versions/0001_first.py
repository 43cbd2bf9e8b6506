"""Everything of the first release: the queue's own objects, then the files of `sql/` in this order."""

from pathlib import Path

from alembic import op
from procrastinate.schema import SchemaManager

from inquest.store.migrate import SCHEMA, execute_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SQL = Path(__file__).resolve().parent.parent / "sql"
FILES = (
    "0001_tables.sql",
    "0002_journal.sql",
    "0003_accept.sql",
    "0004_queue.sql",
    "0005_writes.sql",
    "0006_append_only.sql",
    "0007_sweep.sql",
    "0008_delivery.sql",
    "0009_members.sql",
    "0010_openings.sql",
    "0011_episodes.sql",
    "0012_accounting.sql",
    "0013_threads.sql",
    "0014_cancel.sql",
    "0015_rerun.sql",
    "0016_delete.sql",
    "0017_noise.sql",
    "0021_halt.sql",
    "0022_answer.sql",
    "0023_retention.sql",
    "0024_day_ledger.sql",
)
"""Every file of `sql/`, in the order of execution. A new file is added here; a test compares the two."""

# Procrastinate names its tables without their schema, in functions and in trigger functions: each is pinned.
# After an upgrade of Procrastinate that replaces functions, the migration pins them again.
PIN_FUNCTIONS = """
do $$
declare
  f regprocedure;
begin
  for f in
    select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = 'procrastinate' and p.prokind = 'f'
  loop
    execute format('alter function %s set search_path = procrastinate, pg_temp', f);
  end loop;
end $$;
"""


def upgrade() -> None:
    connection = op.get_bind()
    execute_script(connection, "create schema if not exists procrastinate")
    execute_script(connection, "set local search_path to procrastinate, pg_temp")
    execute_script(connection, SchemaManager.get_schema())
    execute_script(connection, PIN_FUNCTIONS)
    execute_script(connection, f"set local search_path to {SCHEMA}, pg_temp")
    for name in FILES:
        execute_script(connection, (SQL / name).read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("a journal is not migrated backwards: restore a backup")
