"""One investigation as the API and `--json` show it."""

from __future__ import annotations

from typing import Any

from inquest.store.investigations import InvestigationRow


def shown(row: InvestigationRow) -> dict[str, Any]:
    """Give one investigation as the API and `--json` show it; times are RFC 3339 in UTC."""
    written = row.model_dump(mode="json", exclude={"identity", "owner_id", "lease_expires_at", "version"})
    return {
        "id": row.identity.run_id,
        "workspace": row.identity.workspace_id,
        "episode_id": row.identity.task_id,
        "opened_by": row.identity.session_id,
        "workflow": row.identity.workflow_id,
        **written,
    }
