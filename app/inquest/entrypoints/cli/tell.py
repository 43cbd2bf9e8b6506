"""Who is told of an investigation's progress: a reader at a terminal, a script, or nobody."""

from __future__ import annotations

import sys
from typing import Protocol

from inquest.domain.event import Event
from inquest.entrypoints.cli.line import say_now
from inquest.entrypoints.cli.lines import line_of


class Teller(Protocol):
    """Hears what the journal records, and what we have to say ourselves."""

    def event(self, event: Event) -> None:
        """Take one event, in order."""

    def note(self, what: str, text: str) -> None:
        """Take a line of our own: one word, and its text."""

    def asks(self, what: str, text: str) -> None:
        """Take a line of our own that nobody may miss: without an answer nothing goes on."""


class Lines:
    """Prints a line for each."""

    def event(self, event: Event) -> None:
        """Print its line, where it has one."""
        line = line_of(event)
        if line is not None:
            print(line.shown(), flush=True)

    def note(self, what: str, text: str) -> None:
        """Print it."""
        say_now(what, text)

    def asks(self, what: str, text: str) -> None:
        """Print it."""
        say_now(what, text)


class JsonLines:
    """Prints each event as a line of JSON, as the API gives it; notes go to stderr."""

    def event(self, event: Event) -> None:
        """Print it."""
        print(event.canonical().decode(), flush=True)

    def note(self, what: str, text: str) -> None:
        """Print it aside."""
        say_now(what, text, aside=True)

    def asks(self, what: str, text: str) -> None:
        """Print it aside."""
        say_now(what, text, aside=True)


class Silent:
    """Prints nothing, but for a question, which goes to stderr."""

    def event(self, event: Event) -> None:
        """Print the line of a question aside."""
        line = line_of(event) if event.body.kind == "interrupt_raised" else None
        if line is not None:
            print(line.shown(), file=sys.stderr, flush=True)

    def note(self, what: str, text: str) -> None:
        """Do nothing."""

    def asks(self, what: str, text: str) -> None:
        """Print it aside."""
        say_now(what, text, aside=True)


def teller(*, follow: bool, as_json: bool) -> Teller:
    """Give who is told, as the options ask."""
    if not follow:
        return Silent()
    return JsonLines() if as_json else Lines()
