"""`python -m inquest` is the command `inquest`."""

from __future__ import annotations

from inquest.entrypoints.cli import main

if __name__ == "__main__":
    main()
