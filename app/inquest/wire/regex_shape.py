"""The shape of a regular expression in RE2 syntax, read without running it: linear, and for guards only.

It answers two questions about a matcher's pattern: does every text that it matches have to hold some fixed
character (else it may select everything), and does it repeat a repetition ((a+)+).
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_PATTERN_CHARS = 1_024
MAX_GROUP_DEPTH = 10


class UnreadablePattern(Exception):
    """The pattern's brackets do not close, it is too long or too deep; `args[0]` is ours and says which."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`fixed`: every match holds a certain character. `nested`: an unbounded repeat of nothing but repeats.

    `loose`: all of it stands under unbounded repeats, or is empty.
    """

    fixed: bool
    nested: bool = False
    loose: bool = False


_NOTHING = Shape(fixed=False, loose=True)
_CHARACTER = Shape(fixed=True)
_ANY = Shape(fixed=False)
_ASSERTIONS = frozenset("AzbBZ")
_CLASSES = frozenset("dDsSwWpPCX")


def shape_of(pattern: str) -> Shape:
    """Read `pattern`. Raises UnreadablePattern."""
    if len(pattern) > MAX_PATTERN_CHARS:
        msg = f"a pattern has more than {MAX_PATTERN_CHARS} characters"
        raise UnreadablePattern(msg)
    reader = _Reader(pattern)
    shape = reader.alternatives(depth=0)
    if reader.at < len(pattern):
        msg = "a pattern closes a group that it does not open"
        raise UnreadablePattern(msg)
    return shape


class _Reader:
    """One pass over a pattern, left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def alternatives(self, *, depth: int) -> Shape:
        """Read a|b|c up to a closing bracket or the end: fixed only when each alternative is."""
        if depth > MAX_GROUP_DEPTH:
            msg = f"a pattern nests groups deeper than {MAX_GROUP_DEPTH}"
            raise UnreadablePattern(msg)
        found = [self._sequence(depth=depth)]
        while self._take("|"):
            found.append(self._sequence(depth=depth))
        return Shape(
            fixed=all(one.fixed for one in found),
            nested=any(one.nested for one in found),
            loose=any(one.loose for one in found),
        )

    def _sequence(self, *, depth: int) -> Shape:
        fixed, nested, loose = False, False, True
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            part = self._repeated(self._atom(depth=depth))
            fixed, nested, loose = fixed or part.fixed, nested or part.nested, loose and part.loose
        return Shape(fixed=fixed, nested=nested, loose=loose)

    def _atom(self, *, depth: int) -> Shape:
        char = self.pattern[self.at]
        self.at += 1
        match char:
            case "(":
                return self._group(depth=depth)
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "^" | "$":
                return _NOTHING
            case ".":
                return _ANY
            case _:
                return _CHARACTER

    def _group(self, *, depth: int) -> Shape:
        if self._take("?"):
            self._skip_to(")>:")  # (?i), (?i: and (?P<name>
            if self.pattern[self.at - 1] == ")":
                return _NOTHING
        shape = self.alternatives(depth=depth + 1)
        if not self._take(")"):
            msg = "a pattern opens a group that it does not close"
            raise UnreadablePattern(msg)
        return shape

    def _class(self) -> Shape:
        self._take("^")
        self._take("]")
        while self.at < len(self.pattern):
            if self.pattern.startswith("[:", self.at) and (end := self.pattern.find(":]", self.at)) > 0:
                self.at = end + 2
            elif self._take("]"):
                return _ANY
            else:
                self.at += 2 if self.pattern[self.at] == "\\" else 1
        msg = "a pattern opens a class that it does not close"
        raise UnreadablePattern(msg)

    def _escape(self) -> Shape:
        if self.at >= len(self.pattern):
            msg = "a pattern ends in a backslash"
            raise UnreadablePattern(msg)
        char = self.pattern[self.at]
        self.at += 1
        if char in "pPx" and self._take("{"):
            self._skip_to("}")
        elif char in "pP":
            self.at += 1
        elif char == "Q":
            end = self.pattern.find("\\E", self.at)
            quoted = self.pattern[self.at : end if end >= 0 else len(self.pattern)]
            self.at += len(quoted) + (2 if end >= 0 else 0)
            return _CHARACTER if quoted else _NOTHING
        if char in _ASSERTIONS:
            return _NOTHING
        return _ANY if char in _CLASSES else _CHARACTER

    def _repeated(self, part: Shape) -> Shape:
        """Apply the repeats that follow an atom: *, +, ? and {n,m}, each also lazy."""
        while self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            least, endless = self._repeat()
            part = Shape(
                fixed=part.fixed and least > 0,
                nested=part.nested or (endless and part.loose and part is not _NOTHING),
                loose=part.loose or endless or least == 0,
            )
            self._take("?")
        return part

    def _repeat(self) -> tuple[int, bool]:
        char = self.pattern[self.at]
        self.at += 1
        if char != "{":
            return (1 if char == "+" else 0), char != "?"
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at : max(end, self.at)].partition(",")
        if end < 0 or not least.isdecimal() or not (most == "" or most.isdecimal()):
            return 1, False  # RE2 takes such a brace as a character
        self.at = end + 1
        return int(least[:6]), bool(comma) and not most

    def _take(self, char: str) -> bool:
        if self.pattern.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def _skip_to(self, ends: str) -> None:
        while self.at < len(self.pattern):
            self.at += 1
            if self.pattern[self.at - 1] in ends:
                return
        msg = "a pattern opens a group that it does not close"
        raise UnreadablePattern(msg)
