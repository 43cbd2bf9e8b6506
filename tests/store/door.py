"""The intake's store for one test: posts go in, rows are looked at, and time passes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from inquest.domain.alert import Alert, AlertStatus, Post
from inquest.domain.intake import Accepted, Arrival, DailyCeilings, IntakeConfig, NoAuth, keyed
from inquest.sources.alertmanager import parse
from inquest.store.accept import PostgresIntake
from inquest.store.alerts import PostgresAlerts
from inquest.store.database import POOL_SIZE, Database

POSTS = Path(__file__).parent.parent / "data" / "alertmanager"
MORNING = datetime(2026, 3, 1, 10, tzinfo=UTC)
WORDS = (
    "opened", "joined", "deferred", "duplicate", "linked", "resolved_only", "heartbeat", "noise", "follow_up",
    "quarantined",
)  # fmt: skip

# What a clock does to rows, all at once: the database's own clock cannot be set.
_AGE: tuple[LiteralString, ...] = (
    "update intake_receipt set received_at = received_at - %(by)s",
    "update alert set first_seen = first_seen - %(by)s, last_seen = last_seen - %(by)s",
    """update episode set opened_at = opened_at - %(by)s, quiet_since = quiet_since - %(by)s,
      ended_at = ended_at - %(by)s, next_stale_at = next_stale_at - %(by)s""",
    """update investigation set created_at = created_at - %(by)s, admitted_at = admitted_at - %(by)s,
      not_before = not_before - %(by)s, started_at = started_at - %(by)s, ended_at = ended_at - %(by)s,
      rung_at = rung_at - %(by)s""",
    "update delivery_target set rung_at = rung_at - %(by)s",
    "update delivery set planned_at = planned_at - %(by)s, not_before = not_before - %(by)s",
)


def intake(**changes: Any) -> IntakeConfig:  # noqa: ANN401  # any of its fields
    given: dict[str, Any] = {"name": "am", "type": "alertmanager", "workspace": "acme", "auth": NoAuth()}
    return IntakeConfig(**{**given, **changes})


def firing(name: str = "HighLatency", at: datetime | None = MORNING, **labels: str) -> Alert:
    """Build a firing alert; its fingerprint is made from its labels, as Alertmanager's is."""
    return _alert(name, AlertStatus.FIRING, at, None, labels)


def resolved(
    name: str = "HighLatency", at: datetime | None = MORNING, until: datetime | None = None, **labels: str
) -> Alert:
    return _alert(name, AlertStatus.RESOLVED, at, until or (at or MORNING) + timedelta(minutes=10), labels)


def _alert(
    name: str, status: AlertStatus, at: datetime | None, until: datetime | None, labels: dict[str, str]
) -> Alert:
    named = {"alertname": name, "severity": "warning", "service": "checkout", **labels}
    fingerprint = named.pop("fingerprint", hashlib.sha256(repr(sorted(named.items())).encode()).hexdigest()[:16])
    return Alert(
        fingerprint=fingerprint, name=name, status=status, starts_at=at, ends_at=until, labels=named,
        annotations={"summary": f"{name} of {named['service']}"},
    )  # fmt: skip


def arrival(
    *alerts: Alert,
    into: IntakeConfig | None = None,
    quarantined: int = 0,
    quarantine: str | None = None,
    delivery_id: str | None = None,
    ceilings: DailyCeilings | None = None,
) -> Arrival:
    post = Post(
        source="alertmanager", alerts=alerts, quarantined_alerts=quarantined, quarantine=quarantine,
        delivery_id=delivery_id, sender={"group_key": "{}"},
    )  # fmt: skip
    return _arrival(post, post.canonical(), into, ceilings)


def _arrival(post: Post, body: bytes, into: IntakeConfig | None, ceilings: DailyCeilings | None = None) -> Arrival:
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    return Arrival(
        intake=into or intake(), post=post, body=body, body_digest=digest, ceilings=ceilings or DailyCeilings()
    )


class Door:
    """One database, and what a test does with it."""

    def __init__(self, url: str, conninfo: str, *, pool_size: int = POOL_SIZE) -> None:
        self.database = Database(url, pool_size=pool_size)
        self.conninfo = conninfo
        self.intake = PostgresIntake(self.database)
        self.alerts = PostgresAlerts(self.database)
        self._receipts = itertools.count(1)
        self._looking = psycopg.connect(conninfo, autocommit=True, row_factory=dict_row)
        self._looking.execute("set search_path = inquest")

    async def aclose(self) -> None:
        self._looking.close()
        await self.database.aclose()

    async def take(self, arrived: Arrival, receipt_id: str | None = None) -> Accepted:
        members, _ = keyed(arrived.post, arrived.intake)
        return await self.intake.accept(receipt_id or f"receipt-{next(self._receipts):05}", arrived, members)

    async def post(self, *alerts: Alert, into: IntakeConfig | None = None) -> dict[str, int]:
        """Take a post of `alerts` and give its counts by word."""
        return counts(await self.take(arrival(*alerts, into=into)))

    async def send(self, file: str, into: IntakeConfig | None = None) -> dict[str, int]:
        """Take one of the recorded posts and give its counts by word."""
        body = (POSTS / file).read_bytes()
        return counts(await self.take(_arrival(parse(body), body, into)))

    def rows(self, query: LiteralString, *parameters: object) -> list[dict[str, Any]]:
        ran = self._looking.execute(query, parameters)
        return ran.fetchall() if ran.description else []

    def row(self, query: LiteralString, *parameters: object) -> dict[str, Any]:
        (only,) = self.rows(query, *parameters)
        return only

    def column(self, query: LiteralString, *parameters: object) -> list[Any]:
        return [next(iter(row.values())) for row in self.rows(query, *parameters)]

    def pass_time(self, by: timedelta) -> None:
        """Let `by` pass: every moment that the database wrote moves back."""
        with self._looking.transaction():
            for statement in _AGE:
                self._looking.execute(statement, {"by": by})

    def end_investigation(self, status: str = "succeeded") -> None:
        """End every investigation that runs or waits to."""
        self.rows(
            "update investigation set status = %s, started_at = clock_timestamp(), ended_at = clock_timestamp()"
            " where ended_at is null",
            status,
        )

    def sweep(self) -> int:
        (swept,) = self.column("select sweep_episodes(100)")
        return int(swept)

    def accounts(self, workspace: str = "acme") -> dict[str, Any]:
        """Give the accounting, after checking it against the rows themselves."""
        accounts = self.row("select * from accounting(%s)", workspace)
        assert accounts["balanced"], accounts
        assert accounts["accepted"] == sum(accounts[word] for word in WORDS)
        return {word: accounts[word] for word in ("accepted", *WORDS) if accounts[word]}


def counts(accepted: Accepted) -> dict[str, int]:
    return {str(word): count for word, count in accepted.counts.items()}


def named(names: Sequence[str]) -> list[Alert]:
    """Build one firing alert for each of `names`, told apart by label shard."""
    return [firing(shard=name) for name in names]
