"""Closed sets of words that Python and SQL both hold are the same sets: read from the database's own catalogue."""

import re
from typing import get_args

from inquest.domain.alert import AlertStatus
from inquest.domain.delivery import DeliveryState, RevisionKind
from inquest.domain.effect import EffectKind, EffectState
from inquest.domain.event import TERMINAL_KINDS, EventBody
from inquest.domain.intake import ReceiptState
from inquest.domain.investigation import Status
from tests.store.builders import Store

EVENT_KINDS = frozenset(body.model_fields["kind"].default for body in get_args(get_args(EventBody)[0]))
WORDS = {
    "intake_receipt.keyed_by": {"delivery", "body"},  # store/accept.py writes them; nothing in Python reads them
    "intake_receipt.state": {*ReceiptState, "repeated"},
    "alert.status": set(AlertStatus),
    "investigation.status": set(Status),
    "event.kind": EVENT_KINDS,
    "effect.kind": set(EffectKind),
    "effect.state": set(EffectState),
    "delivery.kind": set(RevisionKind),
    "delivery.state": set(DeliveryState),
}
"""Every column that holds one of a closed set, and the words that Python knows."""
ENDED = {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.DELETING}


def words(definition: str) -> set[str]:
    return set(re.findall(r"'([^']+)'::text", definition))


def test_every_check_of_words_holds_the_words_of_python(store: Store) -> None:
    checks = store.look(
        "select c.conrelid::regclass::text || '.' || a.attname as column, pg_get_constraintdef(c.oid) as definition"
        " from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]"
        " where c.contype = 'c' and c.connamespace = 'inquest'::regnamespace"
        " and pg_get_constraintdef(c.oid) like '%%ANY (ARRAY[%%'"
    )
    assert {row["column"]: words(row["definition"]) for row in checks} == WORDS


def test_the_indexes_that_name_ends_and_lives_name_all_of_them(store: Store) -> None:
    rows = store.look("select indexname as name, indexdef as definition from pg_indexes where schemaname = 'inquest'")
    found = {row["name"]: words(row["definition"]) for row in rows}
    assert found["event_one_end"] == TERMINAL_KINDS
    assert found["investigation_runnable"] == set(Status) - ENDED
