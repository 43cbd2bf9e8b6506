"""Which remediation steps were read in evidence: they are marked, because whoever writes a log can write one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquest.domain.diagnosis import Remediation

SHINGLE_WORDS = 3
"""So many words in a row that stand in evidence too were copied."""
MIN_ODD_CHARS = 4
MAX_SCANNED_BYTES = 4_194_304
"""Above this much evidence every step is marked: rather one mark too many."""
MAX_WORDS = 400
_WORD = re.compile(r"[\w./:@%=+-]*\w")
_ODD = re.compile(r"\w[-_./:@=%+]\w|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]")
"""A word that is no plain prose: a path, a package, an option, a host."""
_PROSE = re.compile(r"^[A-Za-z]+(?:-[A-Za-z]+)*\Z")


def mark_from_evidence(
    steps: Sequence[Remediation], contents: Mapping[str, bytes], trusted: Iterable[str]
) -> tuple[Remediation, ...]:
    """Mark each step of which a name or three words in a row stand in any content.

    `trusted` are names from our own configuration, such as the service: they mark nothing.
    """
    too_much = sum(len(raw) for raw in contents.values()) > MAX_SCANNED_BYTES
    texts = () if too_much else tuple(_text(raw) for raw in contents.values())
    own = frozenset(name.lower() for name in trusted if name)
    return tuple(
        step.but(from_evidence=step.from_evidence or too_much or _is_copied(step.text, texts, own)) for step in steps
    )


def _text(raw: bytes) -> str:
    """Give content as lower-case words with one space between: quoting and escapes do not hide a copy."""
    plain = raw.decode("utf-8", errors="replace").replace("\\n", " ").replace("\\t", " ")
    return " " + " ".join(_WORD.findall(plain.lower())) + " "


def _is_copied(text: str, texts: Sequence[str], own: frozenset[str]) -> bool:
    words = _WORD.findall(text)
    if len(words) > MAX_WORDS:
        return True
    odd = [word.lower() for word in words if len(word) >= MIN_ODD_CHARS and _is_odd(word)]
    plain = [word.lower() for word in words]
    rows = [" ".join(plain[start : start + SHINGLE_WORDS]) for start in range(len(plain) - SHINGLE_WORDS + 1)]
    needles = {f" {needle} " for needle in (*odd, *rows) if needle not in own}
    return any(needle in content for needle in needles for content in texts)


def _is_odd(word: str) -> bool:
    return _ODD.search(word) is not None and _PROSE.match(word) is None
