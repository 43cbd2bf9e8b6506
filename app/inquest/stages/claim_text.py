"""No free numbers, times or names: what a text says must be in, or follow from, what it cites.

A claim of a model is a typed statement and a sentence. The type is checked against the evidence; this checks
that the sentence says no more than the type and its citations do.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from inquest.stages.claim_words import CAPITALISED, ENGLISH_COMPOUNDS, KNOWN_SYSTEMS, NUMBER_WORDS
from inquest.stages.quoting import is_rounding_of, number_of, split_unit
from inquest.stages.units import canonical_unit, carries

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT_CHARS = 4_000
"""A claim is a sentence; a longer text is not checked but refused."""
_EDGES = "\"'`()[]{}<>.,;:!?*\u201c\u201d\u2018\u2019\u2026"
_SPLIT = re.compile(r"[\s{}\[\]()\"'`=|]+|,(?!\d)")
"""Where one word ends: white space, and the signs of a selector."""
_MARKS = "~<>=\u00b1\u2248"
"""Signs before a number that do not change which number it is."""
_QUOTED = re.compile('`([^`]+)`|"([^"]+)"|\u201c([^\u201d]+)\u201d')
_EVIDENCE = re.compile(r"^E[1-9]\d*\Z")
_ISO = re.compile(r"^\d{4}-\d\d-\d\d(?:[T_]?\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
_CLOCK = re.compile(r"^\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|UTC)?\Z", re.ASCII)
_NUMBER_IN_TEXT = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_NAME_SHAPE = re.compile(r"[\w%][-_./:@=#][\w%]|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|_")
_OFFSET = re.compile(r"\d[+-]\d\d:?\d\d\Z", re.ASCII)
_STATUS_CLASS = re.compile(r"^[1-5]xx\Z", re.IGNORECASE)
_QUANTILE = re.compile(r"^p(\d\d(?:\.\d+)?|999)\Z", re.ASCII | re.IGNORECASE)
_JOINERS = "-_"
"""Characters that make two words one name: "checkout" is not said by "checkout-db"."""
_MULTIPLES = frozenset({"x", "\u00d7"})


@dataclass(frozen=True)
class Ground:
    """What a text may use: numbers, moments (UTC), units, words (one lower-case text), evidence names.

    `known` are the names of objects anywhere in the investigation: a plain word among them is a name.
    """

    numbers: frozenset[Decimal] = frozenset()
    moments: frozenset[datetime] = frozenset()
    units: frozenset[str] = frozenset()
    words: str = ""
    evidence: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()

    def __or__(self, other: Ground) -> Ground:
        """Give what either allows."""
        return Ground(
            numbers=self.numbers | other.numbers,
            moments=self.moments | other.moments,
            units=self.units | other.units,
            words=self.words + "\n" + other.words,
            evidence=self.evidence | other.evidence,
            known=self.known | other.known,
        )

    def says(self, text: str) -> bool:
        """Say whether `text` occurs among the words as it stands, not as a part of a longer name."""
        wanted = text.lower()
        start = self.words.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            if not _joined(self.words[start - 1 : start], wanted[0]) and not _joined(
                self.words[end : end + 1], wanted[-1]
            ):
                return True
            start = self.words.find(wanted, start + 1)
        return False


def numbers_in(text: str) -> frozenset[Decimal]:
    """Give the numbers that stand in a text, "250ms" and "1,234" among them, but not parts of names or numbers."""
    found = (number_of(part.rstrip(",")) for part in _NUMBER_IN_TEXT.findall(text))
    return frozenset(number for number in found if number is not None)


def unsupported(text: str, ground: Ground) -> str | None:
    """Name the first number, time or object name of `text` that `ground` does not hold; None when all are held."""
    if len(text) > MAX_TEXT_CHARS:
        return f"the text is longer than {MAX_TEXT_CHARS} characters"
    plain = unicodedata.normalize("NFKC", text)
    for groups in _QUOTED.findall(plain):
        quoted = " ".join("".join(groups).split())
        if quoted.lower() not in ground.words:
            return f"the quoted {quoted[:64]!r} is not in its citations"
    words = list(_words(plain))
    for index, word in enumerate(words):
        following = words[index + 1].token if index + 1 < len(words) else ""
        reason = _refuse(word, following, ground)
        if reason is not None:
            return reason
    return None


@dataclass(frozen=True)
class _Word:
    token: str
    starts_sentence: bool


def _words(text: str) -> Iterator[_Word]:
    starts = True
    for raw in _SPLIT.split(text):
        token = raw.strip(_EDGES).removesuffix("\u2019s")
        if token:
            yield _Word(token, starts)
        starts = raw.endswith((".", "!", "?", ":")) or (starts and not token)


def _refuse(word: _Word, following: str, ground: Ground) -> str | None:
    token = word.token
    number = token.lstrip(_MARKS)
    reason = None
    if _EVIDENCE.match(token):
        reason = None if token in ground.evidence else f"it names {token}, which it does not cite"
    elif _ISO.match(token) or _CLOCK.match(token):
        reason = None if _is_known_time(token, ground) else f"the time {token} is not in its citations"
    elif _follows(token.lower(), ground):
        reason = None
    elif split_unit(number)[0] is not None:
        reason = _refuse_number(number, following, ground)
    elif token.lower() in NUMBER_WORDS or any(char.isnumeric() and not char.isascii() for char in token):
        reason = f"the number {token!r} is not written in digits and cannot be checked"
    elif _is_name(word, ground) and not ground.says(token):
        reason = f"the name {token[:64]!r} is not in its citations"
    return reason


def _follows(plain: str, ground: Ground) -> bool:
    """Say whether a status class or a quantile follows from what is cited: 5xx from `5..`, p99 from 0.99."""
    if _STATUS_CLASS.match(plain):
        return re.search(rf"(?<!\d){plain[0]}(?:xx|\.\.|\[0-9\]|\d\d(?!\d))", ground.words) is not None
    quantile = _QUANTILE.match(plain)
    return quantile is not None and Decimal(f"0.{quantile[1].replace('.', '')}") in ground.numbers


def _refuse_number(token: str, following: str, ground: Ground) -> str | None:
    number, unit = split_unit(token)
    if number is None or not any(is_rounding_of(abs(number), abs(allowed)) for allowed in ground.numbers):
        return f"the number {token[:32]} is not in its citations"
    if unit.lower() in _MULTIPLES:
        return None
    if not unit and canonical_unit(following) is None:
        return None
    written = unit or following
    if carries(ground.units, written) or ground.says(f"{token} {following}") or ground.says(f"{token}{following}"):
        return None
    if unit and ground.says(token):
        return None
    return f"the observation does not carry the unit {written!r}"


def _is_known_time(token: str, ground: Ground) -> bool:
    if _OFFSET.search(token) and len(token) > len("2026-03-01"):
        return _is_same_moment(token, ground) or ground.says(token)
    bare = token.removesuffix("UTC").removesuffix("Z").replace("_", "T")
    for moment in ground.moments:
        forms = (f"{moment:%Y-%m-%d}", f"{moment:%H:%M}", f"{moment:%H:%M:%S}", f"{moment:%Y-%m-%dT%H:%M}")
        if bare in forms or bare.zfill(5) == forms[1] or bare.startswith(f"{moment:%Y-%m-%dT%H:%M:%S}"):
            return True
        if bare.startswith(f"{moment:%H:%M:%S}."):
            return True
    return ground.says(token)


def _is_same_moment(token: str, ground: Ground) -> bool:
    """Compare a full timestamp with an offset as a moment, to the second."""
    try:
        said = datetime.fromisoformat(token)
    except ValueError:
        return False
    if said.tzinfo is None:
        return False
    return any(said.replace(microsecond=0) == moment.replace(microsecond=0) for moment in ground.moments)


def _is_name(word: _Word, ground: Ground) -> bool:
    token, plain = word.token, word.token.lower()
    if plain in KNOWN_SYSTEMS or plain in ground.known:
        return True
    if _NAME_SHAPE.search(token) is not None:
        return not _is_english(plain, ground)
    capital = token[0].isupper() and not token.isupper()
    return capital and not word.starts_sentence and plain not in CAPITALISED


def _joined(neighbour: str, edge: str) -> bool:
    """Say whether a character beside a word makes it a part of a longer one."""
    return bool(neighbour) and edge.isalnum() and (neighbour.isalnum() or neighbour in _JOINERS)


def _is_english(plain: str, ground: Ground) -> bool:
    """Say whether a compound is prose: a listed one, or two plain words joined by "/" or "-" that are both cited."""
    if plain in ENGLISH_COMPOUNDS:
        return True
    parts = re.split(r"[-/]", plain)
    return len(parts) > 1 and all(part.isalpha() and ground.says(part) for part in parts)
