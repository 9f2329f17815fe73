"""``pcevolve prompts``: several prompts for each class, into a file that ``pcevolve run --prompts`` reads."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcevolve.errors import UsageError
from pcevolve.public.wordings import USUAL

if TYPE_CHECKING:
    from pcevolve.session.first.prompts import Writer


def prompts(
    domain: Annotated[str, typer.Option(help="Public words for what the images show.")],
    out: Annotated[Path, typer.Option(help="File to write (JSON).")] = Path("prompts.json"),
    labels: Annotated[str, typer.Option(help="Names of the classes, separated by commas.")] = "",
    private: Annotated[
        Path | None,
        typer.Option(help="Folder of class folders, of which only the names are read; for --labels."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Prompts of each class.")] = USUAL,
    api: Annotated[
        str | None,
        typer.Option(
            help="An OpenAI-compatible chat API, as https://HOST/v1, that writes them. It gets the domain's words and "
            "the names of the classes, nothing else. Without one, a grammar writes them and nothing is sent."
        ),
    ] = None,
    local: Annotated[
        str | None,
        typer.Option(
            help="A language model of the transformers library that writes them on this machine, by directory or by "
            "the hub's id of one that was fetched before (pcevolve[text])."
        ),
    ] = None,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine",
            help="As the PCEvolve paper's LE: the model is asked once for each prompt to refine the public one. With "
            "--count N, a prompt for each of a run's N images.",
        ),
    ] = False,
    model: Annotated[str | None, typer.Option(help="The language model's name; needed with --api.")] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="File with the API's key (mode 600).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write several prompts for each class, for pcevolve run --prompts: by a grammar, or by a language model."""
    from rich.console import Console

    from pcevolve.session.first import prompts as prompt_writing
    from pcevolve.session.progress import error_console, told_of

    names = _names(labels, private)
    prompt_writing.require_words(domain, names)
    writer = _writer(api, model, api_key_file, local)
    if writer is None:
        if refine:
            raise UsageError("--refine asks a language model: say which with --api or --local")
        made = prompt_writing.by_grammar(domain, names, count)
    else:
        write = prompt_writing.by_refining if refine else prompt_writing.by_chat
        with told_of(error_console(), "writing prompts") as told:
            made = write(writer, domain, names, count, told)
    prompt_writing.write(made, out, force)
    console = Console(stderr=True, highlight=False)
    for name, own in made.items():
        console.print(f"{name}: {own[0]}", markup=False)
    console.print(
        f"{count} prompts for each of {len(names)} classes; they go out as they stand: look at them"
    )
    if missing := prompt_writing.unnamed(made):
        console.print(f"WARNING: {missing} of them do not name their class: what is drawn need not show it")
    typer.echo(
        f"pcevolve run --method le --prompts {shlex.quote(str(out))} --domain {shlex.quote(domain)} ..."
    )


def _writer(
    api: str | None, model: str | None, api_key_file: Path | None, local: str | None
) -> Writer | None:
    """The language model that options name, if they name one."""
    from pcevolve.session.first import prompts as prompt_writing
    from pcevolve.session.settings import key_in

    if api is None and (model or api_key_file):
        raise UsageError("--model and --api-key-file are a language model's: say with --api where it is")
    if api is not None and not model:
        raise UsageError("--model says which language model --api shall run")
    if api is not None and local is not None:
        raise UsageError("--api or --local: one of them writes the prompts")
    if local is not None:
        return prompt_writing.writer_from(local)
    return None if api is None or model is None else prompt_writing.chat_at(api, model, key_in(api_key_file))


def _names(labels: str, private: Path | None) -> list[str]:
    if labels and private is not None:
        raise UsageError("--labels or --private: one of them names the classes")
    if private is None:
        return [each.strip() for each in labels.split(",") if each.strip()]
    if not private.is_dir():
        raise UsageError(f"--private {private}: no such folder")
    return sorted(each.name for each in private.iterdir() if each.is_dir() and not each.name.startswith("."))
