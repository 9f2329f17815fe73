"""``pcevolve run``, ``preview`` and ``demo``: options in, a summary or a page out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pcevolve.cli.options import Json, given, takes
from pcevolve.errors import UsageError
from pcevolve.public.options import options_of, typed_as
from pcevolve.session.settings import RunSettings, read_toml


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take defaults from a TOML file; flags on the command line win.

    Raises:
        UsageError: The file cannot be read, or holds what is not an option.
    """
    if path is None:
        return None
    known = {each.flag.removeprefix("--"): each.name for each in options_of(RunSettings)}
    known |= {each.name.replace("_", "-"): each.name for each in options_of(RunSettings)}
    written = read_toml(path)
    values = {name.replace("_", "-"): value for name, value in written.items()}
    for name in values.keys() - known.keys():
        raise UsageError(f"configuration {path}: '{name}' is not an option; pcevolve run --help lists them")
    found = {known[name]: value for name, value in values.items()}
    context.default_map = {**(context.default_map or {}), **found}
    keys = {known[name.replace("_", "-")]: name for name in written}

    def spelled(name: str) -> str | None:
        source = context.get_parameter_source(name)
        from_file = source is not None and source.name == "DEFAULT_MAP"
        return f"{keys[name]} in {path}" if from_file and name in keys else None

    context.with_resource(typed_as(spelled))
    return path


Config = Annotated[
    Path | None,
    typer.Option(callback=_read_config, is_eager=True, help="TOML file with these options; flags win."),
]


@takes(RunSettings)
def run(
    *,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            help="Continue the run in this folder where it was cut off, with the options that it began with; nothing "
            "else is needed. Where no run has begun there yet, begin one.",
        ),
    ] = None,
    config: Config = None,
    dashboard: Annotated[
        bool,
        typer.Option(
            "--dashboard",
            help="Show the run in a browser while it goes on: a page on this machine alone, at a secret address.",
        ),
    ] = False,
    as_json: Json = False,
    **options: object,
) -> None:
    """Evolve a synthetic dataset under differential privacy and print what it cost."""
    from pcevolve.session.preflight import checked, continued

    wanted = given(options)
    settings = RunSettings.of(wanted) if resume is None else continued(resume, wanted)
    request = checked(settings, resume is not None)
    # An HTTP client, SciPy, and for the scores torch take seconds to import: nothing above needs them.
    from pcevolve.session.finished.whole import carried_out, carried_out_in_sight

    show((carried_out_in_sight if dashboard else carried_out)(request).summary, as_json)


@takes(RunSettings)
def preview(*, config: Config = None, **options: object) -> None:
    """Show what the provider draws for your classes, before anything is spent; run --resume goes on from there.

    It takes the options of ``run`` and begins that run: the first images of each class are asked for and put on a page.
    """
    from pcevolve.session.preflight import checked

    request = checked(RunSettings.of(given(options)), resume=True)
    from pcevolve.session.execution import preview as previewed

    typer.echo(previewed(request))
    typer.echo(f"if that looks like your domain: pcevolve run --resume {request.folder.root}", err=True)


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("runs/demo"),
    text: Annotated[
        bool, typer.Option("--text", help="With texts and the bundled language model, not with images.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the main job end to end on this machine: API server as its own process, client against it over HTTP."""
    from pcevolve.session.first.demo import demonstrate

    show(demonstrate(out, "text" if text else "image"), as_json)


def show(summary: dict[str, Any], as_json: bool) -> None:
    """Print a summary."""
    if as_json:
        typer.echo(json.dumps(summary, indent=1))
        return
    from pcevolve.session.progress import summary_table

    Console().print(summary_table(summary))
    run = Path(summary["dataset"]).parent
    typer.echo(f"next: look at {summary['report']} and at the dataset in {summary['dataset']}", err=True)
    typer.echo(
        f"then: pcevolve audit {run} --html shows what left, and that all of it had a reason", err=True
    )
