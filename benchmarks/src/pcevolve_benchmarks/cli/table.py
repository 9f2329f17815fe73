"""``pcevolve-bench table``: the papers' tables and figures, each by one command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import click
from rich.console import Console
from rich.table import Column
from rich.table import Table as Shown

from pcevolve.app.cli.options import takes
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import UsageError
from pcevolve.public.config.declared import list_options, validate
from pcevolve.public.config.sources import drop_unset
from pcevolve_benchmarks.tables.catalogue import TABLES
from pcevolve_benchmarks.tables.sizes import Sizes

TEXT = "text"
"""Name of the table of texts."""
OF_TEXTS = frozenset({"name", "smoke", "full", "seeds", "model", "out"})
"""Options that tables of texts look at."""


@takes(list_options(Sizes))
def table(
    context: click.Context,
    name: Annotated[
        str, PositionalArgument(metavar="NAME", help="A table or figure; --list names them.")
    ] = "",
    listed: Annotated[
        bool,
        Flag(
            ("--list",), help="Say of all tables and figures what they show, and how to see them in minutes."
        ),
    ] = False,
    smoke: Annotated[
        bool, Flag(("--smoke",), help="Small runs, one seed: minutes, to see that everything works.")
    ] = False,
    full: Annotated[
        bool,
        Flag(
            ("--full",),
            help="100 images and 10 shots per class, PCEvolve's size, three seeds: hours (the default).",
        ),
    ] = False,
    paper: Annotated[
        bool,
        Flag(
            ("--paper",),
            help="The sizes of the table's own paper, its encoder, and all held-out images; for pe-* 5,000 images "
            "and shots per class.",
        ),
    ] = False,
    data: Annotated[
        list[str] | None,
        Flag(
            help="WORDS=DIR: public words for the images, and a folder with train and test, each with one subfolder "
            "per class; once for each data set. Default: scikit-learn's digits 3, 5 and 8."
        ),
    ] = None,
    public_data: Annotated[
        bool,
        Flag(
            ("--public-data",),
            help="The images of --data are public: dozens of runs on them have no guarantee in common.",
        ),
    ] = False,
    api: Annotated[
        str | None, Flag(help="Address of the image API; a server on this machine if not given.")
    ] = None,
    model: Annotated[
        list[str] | None,
        Flag(
            help="Model of the API; table2 takes several. For tables of texts language models by directory or hub id, "
            "once for each. Default: bundled."
        ),
    ] = None,
    dialect: Annotated[str, Flag(help="How the API speaks.")] = "getimg",
    api_key_file: Annotated[Path | None, Flag(help="File with the API key (mode 600).")] = None,
    providers: Annotated[
        Path | None,
        Flag(
            help="In place of --api, --model, --dialect and --api-key-file: a TOML file with a table [NAME] for each "
            "provider, of options of a run's section provider; table2 has a column for each. Without api: a server on "
            "this machine."
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        Flag(
            help="The encoder that selects; figure8 and pe-encoder take several. Default: bundled, or the paper's with "
            "--paper."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        Flag(
            help="As for evaluate; once for each. Default: cnn, and the encoder that selects. pcevolve:NAME: as in "
            "PCEvolve's published code, on raw pixels, with features as they are."
        ),
    ] = None,
    le_prompts: Annotated[
        Path | None,
        Flag(
            help="File with prompts for the row LE, as pcevolve prompts writes it; for tables of one data set. "
            "Default: the built-in grammar's."
        ),
    ] = None,
    seeds: Annotated[
        int | None, Flag(min=1, max=100, help="Draws of shots, prompts' seeds and noise.")
    ] = None,
    processes: Annotated[
        int | None,
        Flag(min=1, max=256, help="Runs at a time; as many as there are processors if not given."),
    ] = None,
    out: Annotated[Path, Flag(help="Folder of figures, runs and pages; all tables share it.")] = Path(
        "bench"
    ),
    **options: object,
) -> None:
    """Make a table of the papers, or go on with it: real runs over HTTP, judged on held-out images.

    Prints the table, and one line of JSON last. What is done is kept, so the same command goes on where it was.
    """
    if listed:
        print_list()
        return
    if smoke + full + paper > 1:
        raise UsageError("--smoke, --full and --paper are sizes: give one of them")
    if data and not public_data:
        raise UsageError(
            "a table makes dozens of runs on the same images, whose guarantees add up to none: say --public-data if "
            "they are public"
        )
    if name.startswith(TEXT):
        _require_of_texts(name, context)
        _texts(name, out.absolute(), smoke, seeds, tuple(dict.fromkeys(model or ())))
        return
    from pcevolve.public.run.progress import error_console, show_work
    from pcevolve_benchmarks.providers import by_flags, in_file
    from pcevolve_benchmarks.tables.making import WantedTable, make_table  # torch takes seconds to load
    from pcevolve_benchmarks.tables.workers import Processes

    if providers is not None and (api or model or api_key_file or dialect != "getimg"):
        raise UsageError(
            "--providers names the API, its model, dialect and key: leave the flags for them out"
        )
    wanted = WantedTable(
        name=name,
        size="smoke" if smoke else "paper" if paper else "full",
        data=tuple(data or ()),
        providers=by_flags(api, tuple(dict.fromkeys(model or ("bundled",))), dialect, api_key_file)
        if providers is None
        else in_file(providers),
        encoders=tuple(dict.fromkeys(encoder or ())),
        judges=tuple(dict.fromkeys(judge or ())),
        seeds=seeds,
        workers=Processes(processes or os.cpu_count() or 1),
        out=out.absolute(),
        sizes=validate(Sizes, drop_unset(options)),
        le_prompts=le_prompts,
    )
    console = error_console()
    with show_work(console, name) as show_progress:
        found = make_table(
            wanted, show_progress, lambda line: console.print(line, markup=False, highlight=False)
        )
    console.print(found.page.read_text())
    for fault in found.faults:
        console.print(f"not done: {fault}")
    click.echo(json.dumps(found.as_json()))
    if found.faults:
        raise click.exceptions.Exit(1)


def _require_of_texts(name: str, context: click.Context) -> None:
    """Refuse an option that a table of texts would not look at.

    Raises:
        UsageError: There is one.
    """
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        if each.name not in OF_TEXTS and source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{each.opts[0]} means nothing to the table {name!r}, which has a provider and data of its own: leave "
                "it out"
            )


def _texts(name: str, out: Path, smoke: bool, seeds: int | None, writers: tuple[str, ...]) -> None:
    """A table of texts, which has a provider and data of its own."""
    from pcevolve.public.run.progress import error_console, show_work
    from pcevolve_benchmarks.texts.bench import BUNDLED, TextBench
    from pcevolve_benchmarks.texts.page import as_json, tables
    from pcevolve_benchmarks.texts.studies import STUDIES

    if name not in STUDIES:
        raise UsageError(f"there is no table {name!r}: pcevolve-bench table --list names them")
    console, study = error_console(), STUDIES[name]
    with show_work(console, name) as show_progress:
        rows = TextBench(study, out / name, smoke, seeds, writers or (BUNDLED,)).make(show_progress)
    console.print(tables(study, rows))
    click.echo(json.dumps(as_json(study, rows)))


def print_list() -> None:
    """Print every table and figure: what it shows, after whom, and how to see it in minutes."""
    from pcevolve_benchmarks.texts.studies import STUDIES

    known = [(each.name, each.title, each.source) for each in TABLES.values()]
    known += [(study.name, study.title, "SecPE, in miniature") for study in STUDIES.values()]
    shown = Shown(Column("NAME", no_wrap=True), "what it shows", "after")
    for row in known:
        shown.add_row(*row)
    Console().print(shown, "In minutes: pcevolve-bench table NAME --smoke")
