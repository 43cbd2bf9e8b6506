"""What a command was given: an alert's body, an id. Quick to import."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

from inquest.errors import ConfigurationError

MAX_BODY_BYTES = 16 * 1024 * 1024
"""As much as the HTTP intake takes after inflation (design 6)."""
_ID = re.compile(r"[0-9a-f]{32}")


class Given(NamedTuple):
    """An alert's body, the name to call it by in errors, and the intake it is to come in by, None for the only one."""

    raw: bytes
    name: str
    intake: str | None


class ListAsked(NamedTuple):
    """What `list` is asked for, as it was typed; moments are read later."""

    workspace: str | None
    statuses: tuple[str, ...]
    severities: tuple[str, ...]
    verdict: str | None
    service: str | None
    alert: str | None
    since: str | None
    until: str | None
    limit: int
    cursor: str | None

    @property
    def restricts(self) -> bool:
        """Say whether anything but the workspace and the page was named."""
        names = (self.statuses, self.severities, self.verdict, self.service, self.alert, self.since, self.until)
        return any(names) or self.cursor is not None


def read_body(file: str) -> bytes:
    """Read an alert's body from a file, or from standard input for "-". Raises ConfigurationError naming it."""
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(MAX_BODY_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                raw = opened.read(MAX_BODY_BYTES + 1)
    except OSError as error:
        msg = f"{shown_name(file)}: cannot be read ({error.strerror})"
        raise ConfigurationError(msg) from error
    if len(raw) > MAX_BODY_BYTES:
        msg = f"{shown_name(file)}: larger than {MAX_BODY_BYTES} bytes"
        raise ConfigurationError(msg)
    return raw


def shown_name(file: str) -> str:
    """Give what to call the file in a message."""
    return "standard input" if file == "-" else file


def is_id(text: str) -> bool:
    """Say whether `text` is written as an investigation's id is."""
    return _ID.fullmatch(text) is not None


def checked_id(text: str) -> str:
    """Give `text` when it can be an id. Raises ConfigurationError."""
    if not is_id(text):
        msg = f"{text!r} is no investigation's id, which has 32 hex digits: see inquest list"
        raise ConfigurationError(msg)
    return text
