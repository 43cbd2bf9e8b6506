"""The options and the help of `try`. Quick to import: what it does is in `trying`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inquest.entrypoints.cli.environment import read_settings
from inquest.entrypoints.cli.line import say_now


def try_out(  # noqa: PLR0913  # the options of the command, all by name
    *,
    prometheus: Annotated[str, typer.Option(metavar="URL", help="The Prometheus: what stands before /api/v1.")],
    loki: Annotated[str | None, typer.Option(metavar="URL", help="A Loki beside it.")] = None,
    alert: Annotated[
        str | None,
        typer.Option(metavar="NAME", help='Which alert: NAME, or NAME{label="value"} (default: the most severe).'),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="What fired then: 2026-03-01T10:00:00Z, 2h ago, or the epoch.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for its database and report (default: a new one).")
    ] = None,
    token_env: Annotated[str | None, typer.Option(metavar="VARIABLE", help="Variable with a bearer token.")] = None,
    token_file: Annotated[str | None, typer.Option(metavar="FILE", help="File with a bearer token.")] = None,
    username: Annotated[str | None, typer.Option(help="User of basic authentication.")] = None,
    password_env: Annotated[str | None, typer.Option(metavar="VARIABLE", help="Variable with its password.")] = None,
    password_file: Annotated[str | None, typer.Option(metavar="FILE", help="File with its password.")] = None,
    headers_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with further headers, a line each.")
    ] = None,
    ca_file: Annotated[str | None, typer.Option(metavar="FILE", help="Certificates to trust, of both sources.")] = None,
    loki_token_env: Annotated[str | None, typer.Option(metavar="VARIABLE", help="Loki: as --token-env.")] = None,
    loki_token_file: Annotated[str | None, typer.Option(metavar="FILE", help="Loki: as --token-file.")] = None,
    loki_headers_file: Annotated[str | None, typer.Option(metavar="FILE", help="Loki: as --headers-file.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask nobody: say what would be asked, of whom, at what cost.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> int:
    """Investigate what fires at a Prometheus now, or fired then. Nothing else is needed; nothing is changed there.

    Exits as investigate does; 0 when nothing fires.
    """
    settings = read_settings()
    if not dry_run:
        say_now("starting", f"asks what {'fires' if at is None else 'fired'} there", aside=as_json)
    from inquest.bootstrap.trial.access import Access
    from inquest.entrypoints.cli.trying import Trial
    from inquest.entrypoints.cli.trying import try_out as do

    main = Access(
        kind="prometheus", url=prometheus, token_env=token_env, token_file=token_file, username=username,
        password_env=password_env, password_file=password_file, headers_file=headers_file, ca_file=ca_file,
    )  # fmt: skip
    logs = None
    if loki is not None:
        logs = Access(
            kind="loki", url=loki, token_env=loki_token_env, token_file=loki_token_file,
            headers_file=loki_headers_file, ca_file=ca_file,
        )  # fmt: skip
    return do(settings, Trial(main, logs, alert, at, keep), dry_run=dry_run, as_json=as_json)
