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


AT_ONCE = 100
"""Alerts whose texts are looked through together, before each of them is: nearly all hold no secret."""

_BETWEEN_ALERTS = "\n\0\n"
"""A NUL is in no text that passed the sanitiser, and no format of a secret goes on past one."""


def masked_members(members: Sequence[Keyed], redactor: Redactor) -> tuple[Keyed, ...]:
    """Give `members` with the secrets in their alerts masked, under the keys that they have."""
    shown: list[Keyed] = []
    for first in range(0, len(members), AT_ONCE):
        some = members[first : first + AT_ONCE]
        suspect = _may_hold_a_secret([member.alert for member in some], redactor)
        shown += [_masked(member, redactor) for member in some] if suspect else some
    return tuple(shown)


def masked_post(post: Post, redactor: Redactor) -> Post:
    """Give `post` with the secrets masked in what it says of itself; its alerts are masked as members."""
    told = {name: redactor.text(text) for name, text in post.sender.items()}
    return post if told == post.sender else post.but(sender=told)


def _masked(member: Keyed, redactor: Redactor) -> Keyed:
    alert = member.alert
    if not _may_hold_a_secret([alert], redactor):
        return member
    told = _Told(name=alert.name, labels=alert.labels, annotations=alert.annotations, generator_url=alert.generator_url)
    safe = _Told.parse(json.dumps(redactor.tree(told.model_dump(mode="json"))))
    if safe == told:
        return member
    shown = alert.but(
        name=safe.name, labels=safe.labels, annotations=safe.annotations, generator_url=safe.generator_url
    )
    return member.but(alert=shown, body=shown.canonical())


def _may_hold_a_secret(alerts: Sequence[Alert], redactor: Redactor) -> bool:
    """Look through all texts at once, which is many times faster than a tree: a post may hold 20,000 alerts."""
    names = {name for alert in alerts for name in (*alert.labels, *alert.annotations)}
    if any(is_secret_name(name) for name in names):
        return True
    text = _BETWEEN_ALERTS.join("\n".join(_texts(alert)) for alert in alerts)
    return redactor.text(text) != text


def _texts(alert: Alert) -> list[str]:
    """Give every text of `_Told`."""
    named = (alert.labels, alert.annotations)
    return [alert.name, alert.generator_url, *(word for labels in named for pair in labels.items() for word in pair)]
