"""Every command: its options and its help. What it does is in the module that it imports when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inquest.entrypoints.cli.acting_commands import answer, cancel, delete, rerun
from inquest.entrypoints.cli.ending import ended_with, flushed
from inquest.entrypoints.cli.environment import read_settings as _settings
from inquest.entrypoints.cli.given import Given, is_id, read_body, shown_name
from inquest.entrypoints.cli.halt_commands import halt, resume
from inquest.entrypoints.cli.line import say_now
from inquest.entrypoints.cli.list_command import list_investigations
from inquest.entrypoints.cli.try_command import try_out

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
Attended = Annotated[bool, typer.Option("--attended", hidden=True, help="End when standard input is closed.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Ask nobody: say what would be asked, of whom, at what cost.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    return flushed(ended_with(lambda: app(args=arguments, prog_name="inquest", standalone_mode=False)))


@app.command()
def demo(
    *,
    keep: Annotated[Path | None, typer.Option(help="Folder for its database and report (default: a new one).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which variation of the incident.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Investigate a recorded incident, end to end: no key, no vendor, no network."""
    from inquest.entrypoints.cli.demo import demo as do

    return do(keep, seed, as_json=as_json)


@app.command()
def up(*, config: Config = None) -> int:
    """Run the service and a worker, and keep both alive. Brings the database to this release first."""
    say_now("starting", "the database, then the service and a worker")
    from inquest.entrypoints.cli.processes import up as do

    return do(_settings(), config)


@app.command()
def serve(*, config: Config = None, attended: Attended = False) -> None:
    """Run the HTTP service: it takes alerts in and shows investigations."""
    from inquest.entrypoints.cli.processes import serve as do

    do(_settings(), config, attended=attended)


@app.command()
def work(*, config: Config = None, attended: Attended = False) -> None:
    """Run a worker: it investigates and delivers. Run as many as you like."""
    from inquest.entrypoints.cli.processes import work as do

    do(_settings(), config, attended=attended)


@app.command()
def migrate() -> None:
    """Bring the database to this release. Safe to run at any time, by several at once."""
    from inquest.entrypoints.cli.upkeep import migrate as do

    do(_settings())


@config_app.command("check")
def config_check(*, config: Config = None, as_json: AsJson = False) -> int:
    """Read the configuration file and the secrets it names; say every problem, with its line or field."""
    from inquest.entrypoints.cli.upkeep import check_configuration as do

    return do(_settings(), config, as_json=as_json)


@app.command()
def investigate(
    body: Annotated[str, typer.Argument(help="File with an alert as its sender posts it, or - for standard input.")],
    *,
    config: Config = None,
    intake: Annotated[str | None, typer.Option(help="Intake to take it in by (default: the only one).")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Print a line a step.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Investigate one alert and print the report: in this process, or at INQUEST_URL where that is set.

    Exits 0: cause, healthy or noise. 1: inconclusive or contributing only. 2: failed. 3: configuration or
    usage. 4: degraded. 5: cancelled.
    """
    settings = _settings()
    raw = read_body(body)
    if dry_run:
        from inquest.entrypoints.cli.dry_run import foresee_investigation

        return foresee_investigation(settings, config, Given(raw, shown_name(body), intake), as_json=as_json)
    if follow:
        say_now("starting", f"read {len(raw)} bytes of {shown_name(body)}", aside=as_json)
    from inquest.entrypoints.cli.investigate import investigate as do  # seconds, behind the first line

    return do(settings, config, Given(raw, shown_name(body), intake), follow=follow, as_json=as_json)


app.command("try")(try_out)


app.command("list")(list_investigations)


@app.command()
def show(
    investigation: Annotated[str, typer.Argument(help="Id of an investigation.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Print a line a step until it ends.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show an investigation and its report: of this installation, or at INQUEST_URL where that is set."""
    from inquest.entrypoints.cli.showing import show_one as do

    return do(_settings(), investigation, follow=follow, as_json=as_json)


app.command()(answer)
app.command()(cancel)
app.command()(rerun)
app.command()(delete)
app.command()(halt)
app.command()(resume)


@app.command()
def verify(
    what: Annotated[str, typer.Argument(help="Report folder, report.json, bundle, or id of an investigation.")],
    *,
    key: Annotated[str | None, typer.Option(help="Public key (hex) that the signature must be of.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> int:
    """Check a finished report: digests, signature, and every claim against its evidence.

    A folder, a bundle or a file is checked offline, alone. An id is checked in the database, with the folder that was
    delivered where the configuration names one; its signature must be of this installation's key. With INQUEST_URL
    its bundle is fetched from there and checked here.
    """
    if not Path(what).exists() and is_id(what):
        from inquest.entrypoints.cli.verify_id import verify_id

        return verify_id(_settings(), config, what, key, as_json=as_json)
    from inquest.entrypoints.cli.checking import verify as do

    return do(what, key, as_json=as_json)


@app.command()
def replay(
    investigation: Annotated[str, typer.Argument(help="Id of an investigation, or a bundle.")],
    *,
    as_json: AsJson = False,
) -> int:
    """Rebuild an investigation from its journal and compare it, byte for byte, with what was recorded.

    A bundle is rebuilt offline, from the file alone; with INQUEST_URL so is the one of an id, fetched from there.
    """
    if Path(investigation).exists() or not is_id(investigation):
        from inquest.entrypoints.cli.replaying_bundle import replay_bundle

        return replay_bundle(investigation, as_json=as_json)
    settings = _settings()
    if settings.url is not None:
        from inquest.entrypoints.cli.replaying_bundle import replay_at_service

        return replay_at_service(settings, investigation, as_json=as_json)
    from inquest.entrypoints.cli.replaying import replay as do

    return do(settings, investigation, as_json=as_json)


@app.command()
def export(
    investigation: Annotated[str, typer.Argument(help="Id of an investigation that has ended.")],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write (default: ID.tar, or ID.md, here).")
    ] = None,
    postmortem: Annotated[
        bool, typer.Option("--postmortem", help="Write the draft of a postmortem, in Markdown, in the bundle's place.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write an investigation into one file: journal, evidence, report, digests and signature.

    Whoever has the file can check it offline, with verify and replay: no database is needed.
    """
    from inquest.entrypoints.cli.exporting import export as do

    return do(_settings(), investigation, output, postmortem=postmortem, force=force, as_json=as_json)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="Id of an investigation, report folder, report.json, or bundle.")],
    b: Annotated[str, typer.Argument(help="Another one, of any of these kinds.")],
    *,
    as_json: AsJson = False,
) -> int:
    """Show two investigations side by side: what they agree on, and what only one of them has.

    Exits 0: the same conclusion (verdict, category, affected object). 1: another one. 2: one of them does not
    verify, or is not there. 3: usage.
    """
    from inquest.entrypoints.cli.comparing import compare as do

    return do(_settings, a, b, as_json=as_json)
