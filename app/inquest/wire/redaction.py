"""Redaction: no secret passes from a source, a configuration or a query into a row, a log, a report or a model.

Two kinds are masked: what is written in the format of a secret (`secret_formats`, `assignments`), and the
exact values of the configured credentials, also when they are encoded or broken over lines. Ordinary words
("password authentication failed", author, oauth_provider) stay.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from inquest.domain.value import Json
from inquest.wire.assignments import HINTS, assigned_secrets, is_secret_name
from inquest.wire.secret_formats import PHRASE_FORMATS, TOKEN_FORMATS, SecretFormat

REDACTION_VERSION = 1
"""Stands in every observation: a change of the rules explains a change of a digest (checklist 25)."""

MIN_CONFIGURED_CHARS = 6
"""A shorter configured value is not matched exactly: it would blank half of every text."""

MASKED = "[redacted-"
"""How a mask begins. It holds no colon, equals sign or space, so that no rule takes it for part of a secret."""

_MIN_BASE64_CHARS = 8


def mask(name: str) -> str:
    """Write what stands in a secret's place."""
    return f"{MASKED}{name}]"


@dataclass(frozen=True, slots=True)
class _Rules:
    """What has to be applied to one text: the hints of the rest are not in it."""

    formats: tuple[SecretFormat, ...]
    assigned: bool
    configured: bool

    @property
    def none(self) -> bool:
        return not (self.formats or self.assigned or self.configured)


class Redactor:
    """Masks secrets. Holds the configured values; shows none of them."""

    def __init__(self, configured: Iterable[str] = ()) -> None:
        """Take the secret values of the configuration; those under MIN_CONFIGURED_CHARS are left out."""
        values = {value for value in configured if len(value) >= MIN_CONFIGURED_CHARS}
        self._written = tuple(
            sorted({form for value in values for form in _ways_to_write(value)}, key=len, reverse=True)
        )
        broken = ("[\r\n]{0,2}".join(map(re.escape, form)) for form in self._written)
        self._exact = re.compile("|".join(broken)) if self._written else None

    def text(self, text: str) -> str:
        """Give `text` with every secret masked. Applying it again changes nothing."""
        return self._apply(text, self._rules(text))

    def tree(self, value: Json) -> Json:
        """Give `value` with every secret masked: in each text, in keys, and whatever stands under a secret's name."""
        return self._tree(value, self._rules(json.dumps(value, ensure_ascii=False)))

    def find_secret(self, text: str) -> str | None:
        """Name the first secret in `text`, None where there is none: for refusing it in a query.

        Only formats that give themselves away count, and configured values: `{secret="db-creds"}` selects a
        label and is an ordinary query.
        """
        rules = self._rules(text)
        if rules.configured and self._exact is not None and self._exact.search(text):
            return "configured secret"
        for form in TOKEN_FORMATS:
            if form in rules.formats and any(form.real(found[form.secret]) for found in form.pattern.finditer(text)):
                return form.name
        return None

    def _rules(self, text: str) -> _Rules:
        low = text.lower()
        formats = TOKEN_FORMATS + PHRASE_FORMATS
        joined = _without_line_ends(text) if self._written else ""
        return _Rules(
            formats=tuple(form for form in formats if any(hint in low for hint in form.hints)),
            assigned=any(hint in low for hint in HINTS),
            configured=any(form in joined for form in self._written),
        )

    def _apply(self, text: str, rules: _Rules) -> str:
        if rules.none or not text:
            return text
        if rules.configured and self._exact is not None:
            text = self._exact.sub(mask("configured"), text)
        for form in rules.formats:
            text = form.pattern.sub(_masking(form), text)
        return _mask_assigned(text) if rules.assigned else text

    def _tree(self, value: Json, rules: _Rules) -> Json:
        match value:
            case str():
                return self._apply(value, rules)
            case list():
                return [self._tree(item, rules) for item in value]
            case dict():
                return self._members(value, rules)
            case _:
                return value

    def _members(self, value: dict[str, Json], rules: _Rules) -> dict[str, Json]:
        members: dict[str, Json] = {}
        for name, item in value.items():
            shown = _free(self._apply(name, rules), members)
            members[shown] = _blank(item) if rules.assigned and is_secret_name(name) else self._tree(item, rules)
        return members


def find_secret(text: str) -> str | None:
    """Name the first secret format in `text`, None where there is none."""
    return _FORMATS_ONLY.find_secret(text)


def _masking(form: SecretFormat) -> Callable[[re.Match[str]], str]:
    def masked(found: re.Match[str]) -> str:
        whole, secret = found[0], found[form.secret]
        if secret.startswith(MASKED) or not form.real(secret):
            return whole
        start, end = found.start(form.secret) - found.start(), found.end(form.secret) - found.start()
        return whole[:start] + mask(form.name) + whole[end:]

    return masked


def _mask_assigned(text: str) -> str:
    parts, done = [], 0
    for start, end in assigned_secrets(text):
        parts += [text[done:start], mask("assigned")]
        done = end
    return "".join([*parts, text[done:]])


def _blank(item: Json) -> Json:
    """Mask what stands under a secret's name, all the way down; the names below it stay."""
    match item:
        case str() if item and not item.startswith(MASKED):
            return mask("named")
        case bool() | None | str():
            return item
        case int() | float():
            return mask("named")
        case list():
            return [_blank(one) for one in item]
        case dict():
            return {name: _blank(one) for name, one in item.items()}


def _without_line_ends(text: str) -> str:
    """Join the lines of `text`, also where a JSON text writes their ends as escapes."""
    for end in ("\r", "\n", "\\r", "\\n"):
        text = text.replace(end, "")
    return text


def _free(name: str, taken: dict[str, Json]) -> str:
    """Keep two keys apart that redaction made equal."""
    if name not in taken:
        return name
    number = 2
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"


def _ways_to_write(secret: str) -> set[str]:
    """List the forms in which a secret turns up: plain, in a URL, in JSON, in base64 at any offset, in hex."""
    raw = secret.encode("utf-8", "replace")
    ways = {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        raw.hex(),
        raw.hex().upper(),
    }
    for offset in range(3):
        # The characters at both ends also hold bits of the neighbours and differ from text to text.
        encoded = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        inner = encoded[(0, 2, 3)[offset] : len(encoded) - (1 if (offset + len(raw)) % 3 else 0)]
        if len(inner) >= _MIN_BASE64_CHARS:
            ways |= {inner, inner.replace("+", "-").replace("/", "_")}
    return ways


_FORMATS_ONLY = Redactor()
