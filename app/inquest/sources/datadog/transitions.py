"""What a notification says: the table of transitions, titles in their parts, severities."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inquest.domain.alert import SEVERITY_RANKS, AlertStatus, severity_rank
from inquest.sources.datadog.payload import Given


@dataclass(frozen=True, slots=True)
class Transition:
    """`level` is what the monitor has crossed, "" if that is not said; `begins` whether the date is a start."""

    status: AlertStatus
    level: str = ""
    begins: bool = False


_ALERT, _WARNING = "error", "warning"
RECOVERED = Transition(AlertStatus.RESOLVED)
UNKNOWN = Transition(AlertStatus.FIRING, begins=True)
TRANSITIONS = {
    "triggered": Transition(AlertStatus.FIRING, _ALERT, begins=True),
    "re triggered": Transition(AlertStatus.FIRING, _ALERT),
    "no data": Transition(AlertStatus.FIRING, _ALERT, begins=True),
    "re no data": Transition(AlertStatus.FIRING, _ALERT),
    "warn": Transition(AlertStatus.FIRING, _WARNING, begins=True),
    "re warn": Transition(AlertStatus.FIRING, _WARNING),
    "renotify": Transition(AlertStatus.FIRING),
    "recovered": RECOVERED,
}
"""Every value of $ALERT_TRANSITION that is documented, in lower case, with blanks for dashes."""

PRIORITIES = {"P1": "critical", "P2": "high", "P3": "medium", "P4": "low", "P5": "info"}
"""A monitor's priorities, in Datadog's own words for them."""
_TYPES = frozenset({"error", "warning", "info"})
_MAX_WORD_CHARS = 64
_MAX_PREFIXES = 4
_MAX_PREFIX_CHARS = 1_024


def transition_of(said: str, kind: str, warnings: list[str]) -> Transition:
    """Give what a notification of transition `said` and alert type `kind` says.

    A word that we do not know is taken as firing, with a warning. An investigation too many costs minutes; one too
    few costs the incident; a resolve that is none would call it over. Without any word a success is a recovery:
    nothing that sends one says that something is wrong.
    """
    word = _word(said)
    if word in TRANSITIONS:
        return TRANSITIONS[word]
    if _is_recovery(word) or (not word and kind.lower() == "success"):
        return RECOVERED
    warnings.append(f"alert_transition is {'an unknown word' if word else 'missing'}: taken as firing")
    return UNKNOWN


def _word(said: str) -> str:
    """Write a state as the table does: "Re-No Data" becomes "re no data"."""
    return " ".join(re.split(r"[\s_-]+", said[:_MAX_WORD_CHARS].strip().lower()))


def _is_recovery(word: str) -> bool:
    """Say whether a longer text says that it is over: "Recovered on ...", "Warn recovered"."""
    return word.startswith("recovered") or word.endswith(" recovered")


@dataclass(frozen=True, slots=True)
class Title:
    """A title in its parts: `[P1] [Triggered on {host:web-1}] Host is down`."""

    name: str
    state: str = ""
    scope: str = ""


def read_title(title: str) -> Title:
    """Take state and priority off a title: what is left names the alert, and is the same when it is over."""
    rest, state, scope = title.strip(), "", ""
    for _ in range(_MAX_PREFIXES):
        inner, after = _bracketed(rest)
        said, _, where = inner.partition(" on ")
        word = _word(said)
        if word in TRANSITIONS or _is_recovery(word):
            state, scope = said, where.strip("{} ")
        elif inner.strip().upper() not in PRIORITIES:
            break
        rest = after.lstrip()
    return Title(name=rest, state=state, scope=scope)


def _bracketed(text: str) -> tuple[str, str]:
    """Split `[inner]after`, ("", text) when it does not begin so. A scope in braces may hold brackets."""
    if not text.startswith("["):
        return "", text
    opened, closed = text.find("{", 0, _MAX_PREFIX_CHARS), text.find("]", 0, _MAX_PREFIX_CHARS)
    if 0 <= opened < closed:
        closed = max(closed, text.find("}]", opened, _MAX_PREFIX_CHARS) + 1)
    if closed < 0:
        return "", text
    return text[1:closed], text[closed + 1 :]


def severity(given: Given, transition: Transition, tagged: str) -> str:
    """Give the severity: the monitor's priority, else its tag, else what it has crossed. A warning is no more.

    "" when it is over, and when nothing is said.
    """
    if transition.status is AlertStatus.RESOLVED:
        return ""
    kind = given["type"].lower()
    found = (
        PRIORITIES.get(given["priority"].upper())
        or (tagged.lower() if tagged.lower() in SEVERITY_RANKS else "")
        or (kind if kind in _TYPES else transition.level)
    )
    return _WARNING if transition.level == _WARNING and severity_rank(found) > severity_rank(_WARNING) else found
