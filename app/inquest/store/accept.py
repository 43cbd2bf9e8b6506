"""Posts taken in by Postgres: `inquest.accept`, one statement and one round trip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from inquest.crash import CrashPoint, reached_when_sent
from inquest.domain.alert import AlertStatus, severity_rank
from inquest.domain.canonical import digest_of
from inquest.domain.intake import Accepted, Arrival, Keyed, bounded_warnings
from inquest.domain.investigation import WORKFLOW
from inquest.store.database import Database

_ACCEPT = """
select inquest.accept(
  %(receipt_id)s, %(receipt_key)s, %(keyed_by)s, %(body)b, %(body_digest)s, %(remote)s, %(quarantined)s, %(reason)s,
  %(warnings)s::text[], %(sender)s::jsonb,
  row(%(workspace)s, %(intake)s, %(source)s, %(quiet_for)s, %(stale_after)s, %(cooldown)s, %(max_new_per_hour)s,
    %(workspace_usd_micros)s, %(installation_usd_micros)s, %(destinations)s::text[], %(workflow)s)::inquest.intake_rules,
  array(
    select row(u.n, u.fingerprint, u.starts_at, u.ends_at, u.firing, u.name, u.severity_rank, u.group_key, u.heartbeat,
      u.body, 1)::inquest.posted
    from unnest(%(fingerprints)s::text[], %(starts_at)s::timestamptz[], %(ends_at)s::timestamptz[],
      %(firing)s::boolean[], %(names)s::text[], %(severity_ranks)s::int[], %(group_keys)s::text[],
      %(heartbeats)s::boolean[], %(bodies)s::bytea[])
      with ordinality u (fingerprint, starts_at, ends_at, firing, name, severity_rank, group_key, heartbeat, body, n)
    order by u.n))::text
"""


class PostgresIntake:
    """`ports.Intake` on Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        """Take one post in, in one transaction. A second call under one receipt id gives the first answer.

        Raises StoreUnavailable; then it may or may not have been taken in.
        """
        reached_when_sent(CrashPoint.C03)
        answer: str = await self._database.value(
            _ACCEPT, {"receipt_id": receipt_id, **_post(arrival), **_rules(arrival), **_columns(members)}
        )
        return Accepted.parse(answer)


def _post(arrival: Arrival) -> dict[str, object]:
    post = arrival.post
    return {
        # A key of an index, which takes 2.7 kB at most: a sender's id of any length is named by its digest.
        "receipt_key": digest_of(post.delivery_id.encode()) if post.delivery_id else arrival.body_digest,
        "keyed_by": "delivery" if post.delivery_id else "body",
        "body": arrival.body,
        "body_digest": arrival.body_digest,
        "remote": arrival.remote,
        "quarantined": post.quarantined_alerts,
        "reason": post.quarantine or "",
        "warnings": list(bounded_warnings(post.parse_warnings)),
        "sender": json.dumps(post.sender),
    }


def _rules(arrival: Arrival) -> dict[str, object]:
    intake = arrival.intake
    return {
        "workspace": intake.workspace,
        "intake": intake.name,
        "source": arrival.post.source,
        "quiet_for": intake.quiet_for,
        "stale_after": intake.stale_after,
        "cooldown": intake.cooldown,
        "max_new_per_hour": intake.max_new_per_hour,
        "workspace_usd_micros": arrival.ceilings.workspace_usd_micros,
        "installation_usd_micros": arrival.ceilings.installation_usd_micros,
        "destinations": list(intake.destinations),
        "workflow": WORKFLOW,
    }


def _columns(members: Sequence[Keyed]) -> dict[str, object]:
    alerts = [member.alert for member in members]
    return {
        "fingerprints": [alert.fingerprint for alert in alerts],
        "starts_at": [_written(alert.starts_at) for alert in alerts],
        "ends_at": [_written(alert.ends_at) for alert in alerts],
        "firing": [alert.status is AlertStatus.FIRING for alert in alerts],
        "names": [alert.name for alert in alerts],
        "severity_ranks": [severity_rank(alert.severity) for alert in alerts],
        "group_keys": [member.group_key for member in members],
        "heartbeats": [alert.is_heartbeat for alert in alerts],
        "bodies": [member.body for member in members],
    }


def _written(moment: datetime | None) -> str | None:
    """Write a moment for an array that may hold nothing but nulls, which has no type of its own."""
    return None if moment is None else moment.astimezone(UTC).isoformat()
