"""Secrets known by the name that they are assigned to: `password=...`, `"apiKey": "..."`, DB_TOKEN: ...

The name must end in a secret's word, right before the `=` or `:`: author, oauth_provider, max_tokens,
token_count and secretName are none.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = (
    r"password|passwd|passphrase|secret|token|(?:api|access|private|secret|account|signing|encryption|auth)[_-]?key"
    r"|access[_-]?key[_-]?id|credentials?|(?<![a-z])pwd"
)
_BEFORE_VALUE = re.compile(
    rf"(?i)(?:{_WORDS})(?P<closed>\\?[\"'])?[ \t]{{0,3}}(?P<by>:=|=>|=(?![=~])|:(?!/))[ \t]{{0,3}}"
)
_QUOTED = {
    quote: re.compile(rf"{re.escape(quote)}([^\r\n]*?)(?:{re.escape(quote)}|$|(?=[\r\n]))") for quote in ('\\"', "\\'")
}
_QUOTED |= {'"': re.compile(r'"((?:[^"\\\r\n]|\\.)*+)'), "'": re.compile(r"'((?:[^'\\\r\n]|\\.)*+)")}
_IN_URL = re.compile(r"([^\s\"'<>;&]++)")
_BARE = re.compile(r"([^\s\"'<>;]++)")
_TRAILING = ",.)]}|\\"

# One of these is in every text that has such a name.
HINTS = ("password", "passwd", "passphrase", "secret", "token", "key", "credential", "pwd", "authorization", "cookie")

_PLACEHOLDER = re.compile(
    r"(?i)^(?:\[redacted-[a-z-]*\]?|<[a-z_ -]*>?|\*{2,}|x{3,}|\$\{[\w.:-]*\}?|\$\([\w.-]*\)?|\$[A-Z_][A-Z0-9_]*|\{\{.*|%[a-z]|"
    r"null|none|nil|true|false|undefined|-)\Z"
)
"""What stands where a secret would stand and is none."""

_PROSE = frozenset({
    "a", "an", "and", "are", "authentication", "because", "cannot", "could", "denied", "does", "empty", "error",
    "expected", "expired", "failed", "failure", "for", "found", "got", "has", "in", "incorrect", "invalid", "is",
    "login", "mismatch", "missing", "must", "no", "not", "of", "on", "please", "rejected", "required", "revoked",
    "the", "too", "unauthorized", "unable", "unexpected", "unknown", "unset", "user", "was", "with", "wrong",
})  # fmt: skip
"""After a colon these begin a sentence ("invalid password: user not found"), not a value."""

_SECRET_ENDINGS = (
    "password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "access_key", "access_key_id",
    "private_key", "secret_key", "account_key", "signing_key", "encryption_key", "auth_key", "authorization",
    "credential", "credentials", "cookie",
)  # fmt: skip
_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
MAX_NAME_CHARS = 200


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Say whether a field called `name` holds a secret: dbPassword and X-Api-Key do, author does not."""
    if len(name) > MAX_NAME_CHARS:
        return False
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    return "_".join(words).endswith(_SECRET_ENDINGS) or words[-1:] == ["pwd"]


def assigned_secrets(text: str) -> list[tuple[int, int]]:
    """Give the places [start, end) of the values that are assigned to a secret's name, in order."""
    found: list[tuple[int, int]] = []
    position = 0
    while (before := _BEFORE_VALUE.search(text, position)) is not None:
        start, end = _value_after(text, before)
        if end > start and not _stands_for_nothing(
            text[start:end], after_colon=before["by"] == ":" and text[start - 1] not in "\"'"
        ):
            found.append((start, end))
        position = max(before.end(), end)
    return found


def _value_after(text: str, before: re.Match[str]) -> tuple[int, int]:
    at = before.end()
    for quote in ('\\"', "\\'", '"', "'"):
        if text.startswith(quote, at) and (value := _QUOTED[quote].match(text, at)):
            return value.span(1)
    in_url = text[max(0, before.start() - 64) : before.start()].rpartition(" ")[2]
    value = (_IN_URL if "?" in in_url or "&" in in_url else _BARE).match(text, at)
    if value is None:
        return at, at
    start, end = value.span(1)
    while end > start and text[end - 1] in _TRAILING:
        end -= 1
    return start, end


def _stands_for_nothing(value: str, *, after_colon: bool) -> bool:
    if _PLACEHOLDER.match(value):
        return True
    return after_colon and value.rstrip("!?").lower() in _PROSE
