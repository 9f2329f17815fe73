"""Commands before a run: init, check, prompts, fetch-encoder and doctor."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from pcevolve.app.cli.options import ConfigFile, Json, Overrides, leave_files, takes
from pcevolve.app.cli.parameters import Flag, PositionalArgument
from pcevolve.errors import DataError, UsageError, printable
from pcevolve.public.config.sources import gather
from pcevolve.public.config.table import run_options
from pcevolve.public.encoders import FETCHED
from pcevolve.public.processes.confinement import make_caches
from pcevolve.public.words import USUAL
from pcevolve_shared.bundled import BUNDLED, DOMAINS, draws

if TYPE_CHECKING:
    from pcevolve.app.first.prompts import PromptWriter
    from pcevolve.keeper.check import Checkup
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.config.owner import OwnerData


def init(
    folder: Annotated[Path, PositionalArgument(metavar="DIR", help="Folder to write the file to.")] = Path(),
    force: Annotated[bool, Flag(("--force",), help="Overwrite an existing file.")] = False,
    whole: Annotated[
        bool, Flag(("--all",), help="Write every option. Options with a default are commented out.")
    ] = False,
) -> None:
    """Write pcevolve.toml with the most common options and an explanation of each."""
    from pcevolve.app.session.access import find_nearest

    leave_files(writes=[find_nearest(folder)])
    from pcevolve.app.first.init import name_required, write_template

    required = name_required()
    path = write_template(folder, force, whole)
    click.echo(
        f"written: {path}; set {', '.join(required[:-1])} and {required[-1]} in this file, then: pcevolve "
        f"run --config {shlex.quote(str(path))}"
    )


MOST_LINES = 20
"""Largest number of faults and warnings that are listed one by one."""
STAYS = "Nothing was sent or spent. These counts are private: keep them on this machine."


@takes(each for each in run_options() if each.name in {"shots", "unit_map", "method", "dialect"})
def check(
    context: click.Context,
    folder: Annotated[
        Path,
        PositionalArgument(
            metavar="DIR",
            help="Folder with one subfolder of private images per class. With --dialect chat: class "
            "folders of texts, or a table of texts.",
        ),
    ],
    *,
    write_unit_map: Annotated[
        Path | None,
        Flag(
            help="Write a file for --unit-map that makes each folder inside a class folder one privacy unit."
        ),
    ] = None,
    config: ConfigFile = None,
    overrides: Overrides = None,
    as_json: Json = False,
    **options: object,
) -> None:
    """Check private data before a run: formats, duplicates, privacy units, and what a run would refuse.

    Each problem is listed with its remedy. Nothing is sent and nothing is spent. The exit code is 0 if a run would
    accept the folder as it is, and 3 if not.
    """
    asked = context.with_resource(gather(options, overrides or (), config))
    from pcevolve.app.session.access import list_owned, list_private_paths
    from pcevolve.public.config.config import RunConfig
    from pcevolve.public.config.data_source import BUNDLED

    if str(folder).partition(":")[0] in BUNDLED and not folder.exists():
        raise UsageError(
            f"{folder} is built-in sample data and needs no check: use it with pcevolve run --private "
            f"{folder}"
        )
    settings = RunConfig.of({**NEEDED, **asked})
    reads = list_owned([folder, *list_private_paths(settings)])
    leave_files(reads, [] if write_unit_map is None else [write_unit_map.absolute().parent])
    from pcevolve.app.first.pricing import releases_means
    from pcevolve.app.session.preflight import find_made
    from pcevolve.keeper.check import check_data, find_kind, spell_source
    from pcevolve.public.modality import MODALITIES
    from pcevolve.public.run.progress import error_console, show_work

    made = MODALITIES[find_kind(folder, settings)]
    with show_work(error_console(), "reading") as show_progress:
        found = check_data(folder, settings, show_progress, write_unit_map)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1))
    else:
        _show(folder, found, made.nouns.many)
        # With one class nothing has to be told apart, and other methods release no means.
        if (
            found.fit
            and len(found.labels) > 1
            and not made.from_tables
            and releases_means(settings.method.name)
        ):
            _show_outlook(len(found.labels), settings.data)
        if found.fit:
            dialect_flag = "" if made is find_made(settings) else " --dialect chat"
            if write_unit_map is not None and settings.data.unit_map is None:
                options["unit_map"] = write_unit_map
            given = " ".join(_spell_options(settings.data, options, overrides, config))
            # Options that a configuration file already sets need not be typed again.
            of_chat = dialect_flag or settings.provider.dialect == "chat"
            left = {**LEFT_OF_TEXTS, **LEFT} if of_chat else LEFT
            rest = "".join(f" {option}" for name, option in left.items() if name not in asked)
            private = shlex.quote(spell_source(folder))
            if not made.from_tables:
                _note_domain(settings, asked)
            click.echo(f"next: pcevolve preview --private {private}{dialect_flag} {given}{rest}")
    if not found.fit:
        raise click.exceptions.Exit(DataError.exit_code)


def _note_domain(settings: RunConfig, asked: Mapping[str, object]) -> None:
    """State which domains the bundled model draws, if a run would request another domain from it."""
    from pcevolve.wire.console import PUBLIC_IMAGES, warn_of_domain

    if settings.provider.model != BUNDLED or settings.data.from_run is not None:
        return
    if "domain" not in asked:
        click.echo(
            f"note: the bundled model can draw only {', '.join(DOMAINS)}; for other domains see "
            f"{PUBLIC_IMAGES}"
        )
    elif not draws(settings.data.domain):
        click.echo(f"note: {warn_of_domain(settings.data.domain, DOMAINS)}")


def _show(folder: Path, found: Checkup, many: str) -> None:
    """Print the table, and the faults to correct."""
    from rich.console import Console

    from pcevolve.public.screen import NARROW, print_table

    if found.rows:
        title = f"Private {many} in {folder}"
        print_table(title, ("what", "found"), found.rows, NARROW)
    console = Console(highlight=False, markup=False, emoji=False)
    for word, lines in (("fix", found.faults), ("note", found.warnings)):
        for line in lines[:MOST_LINES]:
            # Wrapped at a terminal, and unwrapped in a file or a pipe.
            console.print(f"{word}: {printable(line)}", soft_wrap=not console.is_terminal)
        if len(lines) > MOST_LINES:
            click.echo(f"{word}: and {len(lines) - MOST_LINES} more")
    click.echo(STAYS if found.rows else "Nothing was sent or spent.")


def _show_outlook(classes: int, meant: OwnerData) -> None:
    """Print which classes a run could tell apart, with this number of images and with more."""
    from pcevolve.app.first.pricing import EPSILONS, compare_budgets
    from pcevolve.public.screen import NARROW, print_table

    heads = ("images per class", *(f"epsilon {epsilon}" for epsilon in EPSILONS))
    rows = compare_budgets(classes, meant.subsample or meant.shots)
    title = "Which classes of public datasets can be told apart despite the noise (your classes may be more alike)"
    print_table(title, heads, rows, NARROW)


LEFT = {"domain": "--domain WORDS", "out": "--out RUN"}
"""Options that a run needs in addition to those of ``check``."""
LEFT_OF_TEXTS = {"model": "--model bundled-text"}
"""The model that ``pcevolve-server serve --model text:bundled`` serves; the default model makes images."""


def _spell_options(
    meant: OwnerData, flags: Mapping[str, object], overrides: Sequence[str] | None, config: Path | None
) -> Iterator[str]:
    """Yield every given option, for the command that is suggested next.

    Without one of these options, the suggested run could send something that the owner meant to hide. Options given
    as environment variables are left out, because the variables stay set.
    """
    if meant.subsample is None:  # with a subsample, the shots follow from the given options
        yield f"--shots {meant.shots}"
    for name in ("unit_map", "method", "dialect"):
        if flags[name] is not None:
            yield f"--{name.replace('_', '-')} {shlex.quote(str(flags[name]))}"
    if config is not None:
        yield f"--config {shlex.quote(str(config))}"
    for each in overrides or ():
        yield f"--set {shlex.quote(each)}"


def prompts(
    domain: Annotated[str, Flag(help="Public words that say what the images show.")],
    out: Annotated[Path, Flag(help="JSON file to write.")] = Path("prompts.json"),
    labels: Annotated[str, Flag(help="Names of the classes, separated by commas.")] = "",
    private: Annotated[
        Path | None,
        Flag(
            help="Folder with one subfolder per class, as an alternative to --labels. Only the names of "
            "the subfolders are read."
        ),
    ] = None,
    count: Annotated[int, Flag(min=1, max=1000, help="Number of prompts per class.")] = USUAL,
    api: Annotated[
        str | None,
        Flag(
            help="Address of an OpenAI-compatible chat API, such as https://HOST/v1, that writes the "
            "prompts. The API receives the domain's words and the class names, and nothing else. "
            "Without --api or --local, a grammar writes the prompts and nothing is sent."
        ),
    ] = None,
    local: Annotated[
        str | None,
        Flag(
            help="Directory or hub id of a transformers language model that writes the prompts on this "
            "machine (needs pcevolve[text]). A model given by hub id must already be downloaded."
        ),
    ] = None,
    refine: Annotated[
        bool,
        Flag(
            ("--refine",),
            help="Ask the model to refine the public prompt, once for each new prompt, as in the "
            "PCEvolve paper (LE). Set --count to the run's --candidates to get one prompt per image.",
        ),
    ] = False,
    model: Annotated[str | None, Flag(help="Name of the language model. Required with --api.")] = None,
    api_key_file: Annotated[Path | None, Flag(help="File with the API key. Its mode must be 600.")] = None,
    force: Annotated[bool, Flag(("--force",), help="Overwrite an existing file.")] = False,
) -> None:
    """Write a file of several prompts per class, with a grammar or a language model.

    A run uses the file as provider.prompts.
    """
    names = _name_classes(labels, private)
    # A process with the network gets no private files. It may only list the output folder, where some may
    # lie.
    leave_files([local, api_key_file], lists=[out.absolute().parent], fills=[out.absolute().parent])
    from pcevolve.app.first import prompts as prompt_writing
    from pcevolve.public.config.files import spell_prompts
    from pcevolve.public.durable import write_durably
    from pcevolve.public.run.progress import error_console, show_work

    prompt_writing.require_words(domain, names)
    # Checked before a language model is used, which may cost money.
    prompt_writing.refuse_overwriting(out, force)
    writer = _writer(api, model, api_key_file, local)
    if writer is None:
        if refine:
            raise UsageError("--refine needs a language model: give one with --api or --local")
        made = prompt_writing.write_by_grammar(domain, names, count)
    else:
        write = prompt_writing.refine if refine else prompt_writing.ask_chat
        with show_work(error_console(), "writing prompts") as show_progress:
            made = write(writer, domain, names, count, show_progress)
    write_durably(out, spell_prompts(made).encode())
    _show_prompts(made, out, prompt_writing.count_unnamed(made))
    click.echo(
        f"pcevolve run --set provider.prompts={shlex.quote(str(out))} --domain {shlex.quote(domain)} ..."
    )


def _name_classes(labels: str, private: Path | None) -> list[str]:
    """Return the given names, or the names of the class folders in a run; ``UsageError`` if both or none are given."""
    if labels and private is not None:
        raise UsageError("give the class names with --labels or --private")
    if private is None:
        return [each.strip() for each in labels.split(",") if each.strip()]
    if not private.is_dir():
        raise UsageError(f"--private {private}: no such folder")
    from pcevolve.keeper.private.listing import Folders

    return [each.name for each in Folders().visible(private) if each.is_dir()]


def _show_prompts(made: Mapping[str, Sequence[str]], out: Path, unnamed: int) -> None:
    """Show the prompts of each class, for the owner to check before they are sent."""
    from rich.console import Console

    from pcevolve.public.figures import spell_count

    console = Console(stderr=True, highlight=False, markup=False)
    for name, own in made.items():
        for prompt in own[:MOST_LINES]:
            console.print(f"{name}: {prompt}")
        if len(own) > MOST_LINES:
            console.print(f"{name}: and {len(own) - MOST_LINES} more")
    each = spell_count(max(map(len, made.values())), "prompt")
    many = spell_count(len(made), "class")
    console.print(
        f"written: {out} ({many}, {each} each). A run sends these prompts unchanged, so read them first"
    )
    if unnamed:
        console.print(f"WARNING: {unnamed} prompts do not name their class, so the images may not show it")


def _writer(
    api: str | None, model: str | None, api_key_file: Path | None, local: str | None
) -> PromptWriter | None:
    from pcevolve.app.first import prompts as prompt_writing
    from pcevolve.public.config.files import read_key
    from pcevolve.public.encoders import require_torch

    if api is None and (model or api_key_file):
        raise UsageError(
            "--model and --api-key-file are used only with --api: give the address of the "
            "language model with --api"
        )
    if api is not None and not model:
        raise UsageError("--api also needs --model, the name of the language model")
    if api is not None and local is not None:
        raise UsageError("give --api or --local, not both: only one language model writes the prompts")
    if local is not None:
        require_torch("--local, which runs a language model,")
        return prompt_writing.find_writer(local)
    return (
        None if api is None or model is None else prompt_writing.open_chat(api, model, read_key(api_key_file))
    )


def fetch_encoder(
    encoder: Annotated[
        str, PositionalArgument(metavar="ENCODER", help=f"{', '.join(FETCHED)} or clip:MODEL:TAG.")
    ],
) -> None:
    """Download an encoder's published weights.

    A run itself never downloads weights: it connects only to the configured API.
    """
    caches = make_caches()
    leave_files(writes=caches, links=caches)
    from pcevolve.app.fetching import fetch_encoder as fetch

    fetch(encoder)
    click.echo(f"encoder {encoder} is ready; to use it: pcevolve run --encoder {encoder}")


NEEDED = {"private": "digits", "domain": "anything", "out": "."}
"""Values of options that every run needs; they have no effect here."""


ASKED = [
    each
    for each in run_options()
    if each.has_flag and each.section in ("provider", "encoder") and each.name not in ("yes", "max_cost")
]
"""Options that determine what a run would use of this machine, and which API it would contact."""


@takes(ASKED)
def doctor(
    context: click.Context,
    *,
    config: ConfigFile = None,
    overrides: Overrides = None,
    as_json: Json = False,
    **options: object,
) -> None:
    """Check versions, encoder, ledger, disk and API, and print what is missing.

    The exit code is 1 if anything is missing. No private data are read. Only one request is sent: the request for the
    list of models, with which every run begins.
    """
    asked = context.with_resource(gather(options, overrides or (), config))
    from pcevolve.public.config.config import RunConfig

    settings = RunConfig.of({**NEEDED, **asked})
    # /sys lists the networks that are up.
    leave_files([settings.encoder.weights, settings.provider.api_key_file, settings.provider.ca_file, "/sys"])
    from rich.console import Console

    from pcevolve.app.first.doctor import examine
    from pcevolve.public.screen import lay_out

    found = [*examine(settings)]
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=1))
    else:
        marks = {True: "ok", False: "TO FIX"}
        Console(highlight=False).print(
            lay_out((each.what, f"{marks[each.fit]}: {printable(each.found)}") for each in found)
        )
    if not all(each.fit for each in found):
        raise click.exceptions.Exit(1)
