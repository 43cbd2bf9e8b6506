"""How a command's end is said: a line or a few on stderr, never a trace, and the exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.line import safe
from inquest.errors import ConfigurationError, InquestError, InvariantBroken, NotFound, StoreUnavailable

_USAGE = 2
"""Typer's own code of a usage error."""


def ended_with(command: Callable[[], object]) -> int:
    """Run `command` and give its exit code; whatever it raises is said."""
    try:
        with _stoppable() as stopped_by:
            try:
                result = command()
            except KeyboardInterrupt:
                result = Exit.INTERRUPTED
            if result == Exit.INTERRUPTED:  # Typer may have met Ctrl-C before us
                return _say("stopped", stopped_by())
    except SystemExit as left:
        return _left(left)
    except Exception as error:  # the outermost frame: each is said in a line, and what is a bug is reported by `_said`
        return _said(error)
    return result if isinstance(result, int) else Exit.ANSWERED


def _said(error: Exception) -> int:
    """Say what `error` means to whoever typed the command."""
    match error:
        case typer.Abort():
            return Exit.INTERRUPTED
        case typer.TyperException():
            return _wrong_usage(error)
        case InquestError() if not isinstance(error, InvariantBroken):
            return _ours(error)
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            return _say(f"{error.strerror or type(error).__name__}{where}", Exit.FAILED)
        case _:
            return _unexpected(error)


def _ours(error: InquestError) -> int:
    kinds = ((NotFound, "not found: "), (StoreUnavailable, "unavailable: "))
    prefix = next((words for kind, words in kinds if isinstance(error, kind)), "")
    return _say(f"{prefix}{error}", Exit.USAGE if isinstance(error, ConfigurationError) else Exit.FAILED)


@contextmanager
def _stoppable() -> Iterator[Callable[[], Exit]]:
    """Let SIGTERM and SIGHUP do inside the `with` what Ctrl-C does: what was opened is closed on the way out.

    Gives what tells the exit code of being stopped. A signal that is ignored (nohup) stays ignored. In a script's
    background job Ctrl-C is ignored, and SIGTERM is not: there Ctrl-C is blocked until SIGTERM comes, for an event loop
    ends its tasks in order only where it finds Python's own handler of it.
    """
    received = [signal.SIGINT]
    interrupt = signal.getsignal(signal.SIGINT)

    def as_ctrl_c(number: int, _frame: object) -> None:
        received.append(signal.Signals(number))
        signal.raise_signal(signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def stopped_by() -> Exit:
        return Exit.INTERRUPTED if received[-1] is signal.SIGINT else Exit.TERMINATED

    numbers = (signal.SIGTERM, signal.SIGHUP) if threading.current_thread() is threading.main_thread() else ()
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    in_background = bool(taken) and interrupt is signal.SIG_IGN
    if in_background:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in taken:
        signal.signal(number, as_ctrl_c)
    try:
        yield stopped_by
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if in_background:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # and what is pending of it is forgotten
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _wrong_usage(wrong: typer.TyperException) -> int:
    words = wrong.format_message()
    if words:  # a group without a command has printed its help instead
        context = getattr(wrong, "ctx", None)
        hint = "" if context is None else f"\nSee: {context.command_path} --help"
        _say(f"Error: {words}{hint}", Exit.USAGE)
    return Exit.USAGE if wrong.exit_code == _USAGE else Exit.FAILED


def _left(left: SystemExit) -> int:
    """Give the code of a SystemExit: Typer leaves so, with 1, when the reader of our output has gone."""
    return Exit.PIPE_CLOSED if left.code == 1 else Exit.FAILED


def _unexpected(bug: Exception) -> int:
    """Say where a bug of ours is, without its text: that may quote anything."""
    from inquest.telemetry import report_error  # slow to import, and seldom needed

    report_error(bug, tags={"where": "cli"})
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(bug.__traceback__)]
    ours = next((place for place in reversed(places) if "inquest" in place), places[-1] if places else "?")
    return _say(f"a bug in Inquest: {type(bug).__name__} at {ours}; please report it", Exit.FAILED)


def _say(words: str, code: Exit) -> int:
    typer.echo(safe(words), err=True)
    return code


def flushed(code: int) -> int:
    """Write out what is buffered; when its reader has gone, say so by the exit code instead of a trace at exit."""
    if sys.stdout is None:  # we were started with standard output closed: Python's own way of saying so
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    return code
