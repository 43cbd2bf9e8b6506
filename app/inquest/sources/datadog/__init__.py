"""Datadog's notifications, as its Webhooks integration posts them (docs.datadoghq.com/integrations/webhooks, 2026).

A post is one notification about one group of a monitor, in whatever shape the sender's template gives it: ours is
config/datadog-webhook.json, and other usual names of the same variables are understood (`payload`). Datadog sends
no delivery id and no signature: a secret in a header of its own, or basic authentication, is all the proof there is.
"""

from __future__ import annotations

import re

from inquest.domain.alert import Post
from inquest.domain.intake import Auth, bounded_warnings
from inquest.domain.value import Json
from inquest.sources.datadog.alerts import read_alert
from inquest.sources.datadog.payload import FIELDS, NAMING, is_set, read_fields, written
from inquest.sources.shared.credentials import check_authorization
from inquest.sources.shared.json_body import Unreadable, read_json
from inquest.sources.shared.source import Headers
from inquest.sources.shared.texts import read_text

SOURCE = "datadog"

_SENDER = ("event_id", "event_type", "org_id", "org_name", "alert_cycle_key", "aggreg_key")
_FORM = re.compile(rb"[A-Za-z0-9_.%+\[\]-]{1,128}=")


def authorize(headers: Headers, keys: Auth) -> None:
    """Check the secret, in the header that is configured or in Authorization. Raises Unauthorized."""
    check_authorization(headers, keys)


def verify(headers: Headers, body: bytes, keys: Auth) -> None:
    """Check the secret: Datadog proves nothing about the body. Raises Unauthorized."""
    del body
    check_authorization(headers, keys)


def parse(body: bytes) -> Post:
    """Read an inflated body. Total: what is no notification is quarantined with the reason."""
    read = read_json(body)
    if isinstance(read, Unreadable):
        form = "form_encoded: switch 'Encode as form' off in the webhook, only JSON is read"
        return Post(source=SOURCE, quarantine=form if _FORM.match(body) else read.reason)
    warnings = list(read.warnings)
    posted = read.value if isinstance(read.value, dict) else {}
    given = read_fields(posted)
    if not any(given[name] for name in NAMING):
        return Post(source=SOURCE, quarantine=_why_not(read.value), parse_warnings=bounded_warnings(warnings))
    alert = read_alert(given, warnings)
    facts = {key: written(posted.get(key)) for key in _SENDER}
    sender = {key: read_text(text, warnings, key) for key, text in facts.items() if is_set(text)}
    return Post(source=SOURCE, alerts=(alert,), parse_warnings=bounded_warnings(warnings), sender=sender)


def _why_not(value: Json) -> str:
    """Say why a body holds nothing to know an alert by."""
    if not isinstance(value, dict):
        return "not_datadog: the body is no object"
    if not any(key in value for name in NAMING for key in FIELDS[name]):
        return "not_datadog: it has no field of the payload template"
    return "unset: no variable that could name the alert has a value"
