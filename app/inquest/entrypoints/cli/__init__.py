"""The command line: `inquest`. Commands import what they need when they run, so that --help is quick."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit. Errors are said in a line or a few, without a trace.

    Exit codes are those of `exits.Exit`; usage and configuration errors exit with 3.
    """
    from inquest.entrypoints.cli.commands import run  # nothing is imported before it is needed

    sys.exit(run(sys.argv[1:]))
