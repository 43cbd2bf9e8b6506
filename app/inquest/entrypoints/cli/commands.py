"""Every command: its options and its help. What it does is in the module that it imports when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from click.exceptions import Abort, ClickException, UsageError
from click.exceptions import Exit as ClickExit
from pydantic import ValidationError

from inquest.entrypoints.cli.exits import Exit
from inquest.errors import ConfigurationError, InquestError
from inquest.settings import Settings

app = typer.Typer(
    name="inquest",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Alert in, report out: every claim cites evidence that code has checked.",
)
config_app = typer.Typer(no_args_is_help=True, help="Check a configuration file.")
app.add_typer(config_app, name="config")

Config = Annotated[
    Path | None, typer.Option("--config", help="Configuration file (else INQUEST_CONFIG, else ./inquest.yaml).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        result = app(args=arguments, prog_name="inquest", standalone_mode=False)
    except (ClickExit, ClickException, Abort, KeyboardInterrupt, InquestError) as ended:
        return _said(ended)
    return result if isinstance(result, int) else Exit.ANSWERED


def _said(ended: BaseException) -> int:
    """Say why a command ended, in a line or a few, and give its exit code."""
    match ended:
        case ClickExit(exit_code=code):
            return int(code)
        case ClickException():
            ended.show()
            return Exit.USAGE if isinstance(ended, UsageError) else Exit.FAILED
        case ConfigurationError():
            typer.echo(str(ended), err=True)
            return Exit.USAGE
        case InquestError():
            typer.echo(f"{type(ended).__name__}: {ended}", err=True)
            return Exit.FAILED
        case _:
            typer.echo("stopped", err=True)
            return Exit.CANCELLED


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        msg = f"INQUEST_{name}: {first['msg']}"
        raise ConfigurationError(msg) from None


@app.command()
def demo(
    *,
    keep: Annotated[Path | None, typer.Option(help="Folder for its database and report (default: a new one).")] = None,
    as_json: AsJson = False,
) -> int:
    """Investigate a recorded incident, end to end: no key, no vendor, no network."""
    from inquest.entrypoints.cli.demo import demo as do

    return do(keep, as_json=as_json)


@app.command()
def up(*, config: Config = None) -> None:
    """Run the service and a worker, and keep both alive."""
    from inquest.entrypoints.cli.processes import up as do

    do(_settings(), config)


@app.command()
def serve(*, config: Config = None) -> None:
    """Run the HTTP service: it takes alerts in and shows investigations."""
    from inquest.entrypoints.cli.processes import serve as do

    do(_settings(), config)


@app.command()
def work(*, config: Config = None) -> None:
    """Run a worker: it investigates and delivers. Run as many as you like."""
    from inquest.entrypoints.cli.processes import work as do

    do(_settings(), config)


@app.command()
def migrate() -> None:
    """Bring the database to this release. Safe to run at any time, by several at once."""
    from inquest.entrypoints.cli.upkeep import migrate as do

    do(_settings())


@config_app.command("check")
def config_check(*, config: Config = None, as_json: AsJson = False) -> None:
    """Read the configuration file and the secrets it names; say every problem with its line."""
    from inquest.entrypoints.cli.upkeep import check_configuration as do

    do(_settings(), config, as_json=as_json)


@app.command()
def investigate(
    body: Annotated[str, typer.Argument(help="File with an alert as its sender posts it, or - for standard input.")],
    *,
    config: Config = None,
    intake: Annotated[str | None, typer.Option(help="Intake to take it in by (default: the only one).")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Print a line a step.")] = False,
    as_json: AsJson = False,
) -> int:
    """Investigate one alert and print the report: in this process, or at INQUEST_URL where that is set.

    Exits 0: cause, healthy or noise. 1: inconclusive or contributing only. 2: failed. 3: configuration or
    usage. 4: degraded. 5: cancelled.
    """
    from inquest.entrypoints.cli.investigate import investigate as do

    return do(_settings(), config, body, intake=intake, follow=follow, as_json=as_json)


@app.command("list")
def list_investigations(
    *,
    workspace: Annotated[str, typer.Option(help="Workspace to list.")] = "default",
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List investigations, newest first."""
    from inquest.entrypoints.cli.showing import show_list as do

    do(_settings(), workspace, limit, as_json=as_json)


@app.command()
def show(
    investigation: Annotated[str, typer.Argument(help="Id of an investigation.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Print a line a step until it ends.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show an investigation and its report."""
    from inquest.entrypoints.cli.showing import show_one as do

    return do(_settings(), investigation, follow=follow, as_json=as_json)


@app.command()
def verify(
    what: Annotated[str, typer.Argument(help="Report folder, report.json, or id of an investigation.")],
    *,
    key: Annotated[str | None, typer.Option(help="Public key (hex) that the signature must be of.")] = None,
    as_json: AsJson = False,
) -> int:
    """Check a finished report offline: digests, signature, and every claim against its evidence."""
    from inquest.entrypoints.cli.checking import verify as do

    return do(what, key, as_json=as_json)


@app.command()
def replay(
    investigation: Annotated[str, typer.Argument(help="Id of an investigation.")],
    *,
    as_json: AsJson = False,
) -> int:
    """Rebuild an investigation from its journal and compare it, byte for byte, with what was recorded."""
    from inquest.entrypoints.cli.checking import replay as do

    return do(_settings(), investigation, as_json=as_json)
