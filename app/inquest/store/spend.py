"""What a workspace, and the whole installation, spent on a day (UTC). The journal's writes add to it."""

from __future__ import annotations

from datetime import date

from inquest.domain.value import Value
from inquest.store.database import Database

INSTALLATION = ""
"""The name under which all workspaces are counted together."""

_DAY = """
select investigations, model_turns, connector_effects, input_tokens, output_tokens, usd_micros
from inquest.spend_day where workspace = %(workspace)s
  and day = coalesce(%(day)s::date, (now() at time zone 'UTC')::date)
"""


class DaySpend(Value):
    """The totals of one day. Tokens and dollars that no provider stated are not in it."""

    investigations: int = 0
    model_turns: int = 0
    connector_effects: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd_micros: int = 0


async def spend_of_day(database: Database, workspace: str = INSTALLATION, day: date | None = None) -> DaySpend:
    """Read the totals of `day`, of today by the database's clock when None; without a lock."""
    found = await database.row(_DAY, {"workspace": workspace, "day": day})
    return DaySpend() if found is None else DaySpend(**found._mapping)  # noqa: SLF001  # SQLAlchemy's public name
