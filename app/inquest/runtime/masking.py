"""Secrets in what a sender says: masked before anything of it is a row, a prompt or a report.

The raw bytes of a post are kept as they came (design 5, `receipt_body`): they are read by nobody but who looks
at the database. What is made of them is masked here, after the alert and its group got their keys, so that
two alerts which differ in a masked value stay two.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from inquest.domain.alert import Alert, Post
from inquest.domain.intake import Keyed
from inquest.domain.value import Labels, Value
from inquest.wire.assignments import is_secret_name
from inquest.wire.redaction import Redactor

FORMATS_ONLY = Redactor()
"""Knows the formats of secrets, and no configured one."""


class _Told(Value):
    """Every text of an alert that its sender chose, but for its fingerprint, which names it."""

    name: str
    labels: Labels
    annotations: Labels
    generator_url: str


def masked_members(members: Sequence[Keyed], redactor: Redactor) -> tuple[Keyed, ...]:
    """Give `members` with the secrets in their alerts masked, under the keys that they have."""
    return tuple(_masked(member, redactor) for member in members)


def masked_post(post: Post, redactor: Redactor) -> Post:
    """Give `post` with the secrets masked in what it says of itself; its alerts are masked as members."""
    told = {name: redactor.text(text) for name, text in post.sender.items()}
    return post if told == post.sender else post.but(sender=told)


def _masked(member: Keyed, redactor: Redactor) -> Keyed:
    told = _told(member.alert)
    if not _may_hold_a_secret(told, redactor):
        return member
    safe = _Told.parse(json.dumps(redactor.tree(told.model_dump(mode="json"))))
    if safe == told:
        return member
    shown = member.alert.but(
        name=safe.name, labels=safe.labels, annotations=safe.annotations, generator_url=safe.generator_url
    )
    return member.but(alert=shown, body=shown.canonical())


def _may_hold_a_secret(told: _Told, redactor: Redactor) -> bool:
    """Look through all texts at once, which is many times faster than a tree: a post may hold 20,000 alerts."""
    named = (told.labels, told.annotations)
    if any(is_secret_name(name) for labels in named for name in labels):
        return True
    text = "\n".join(
        [told.name, told.generator_url, *(word for labels in named for pair in labels.items() for word in pair)]
    )
    return redactor.text(text) != text


def _told(alert: Alert) -> _Told:
    return _Told(name=alert.name, labels=alert.labels, annotations=alert.annotations, generator_url=alert.generator_url)
