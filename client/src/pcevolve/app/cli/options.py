"""Turn declared options into a command's parameters; names, help and defaults come from the declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pcevolve.app.cli.parameters import OPTIONS, Flag, PositionalArgument
from pcevolve.errors import UsageError
from pcevolve.public.config.options import Option
from pcevolve.public.config.sources import complete
from pcevolve.public.config.table import run_options
from pcevolve.public.processes import confinement
from pcevolve.public.processes.landlock import Files

Command = TypeVar("Command", bound=Callable[..., None])
Verbose = Annotated[
    bool,
    Flag(
        (
            "--verbose",
            "-v",
        ),
        help="Print every fact, not only the essential ones.",
    ),
]
Json = Annotated[bool, Flag(("--json",), help="Print JSON to stdout instead of a table.")]
LedgerFile = Annotated[Path | None, Flag(help="Privacy ledger. Default: the ledger of this user.")]
RunPath = Annotated[Path, PositionalArgument(metavar="RUN", help="Folder of a run.")]


ConfigFile = Annotated[
    Path | None,
    Flag(
        ("--config",),
        help="TOML file of options, as pcevolve init writes it. --set and flags override the file.",
    ),
]


def leave_files(
    reads: Iterable[Path | str | None] = (), writes: Iterable[Path | str] = (), **more: Iterable[Path | str]
) -> None:
    """Restrict the command's own process to these files; the command itself reports missing ones.

    Args:
        more: Other fields of ``Files``.
    """
    given = {"reads": reads, "writes": writes, **more}
    found = {
        name: [str(path) for path in paths if path is not None and Path(path).exists()]
        for name, paths in given.items()
    }
    try:
        confinement.leave_files(Files(**found))
    except confinement.ConfinementError as error:
        raise UsageError(str(error)) from None


def require_run(folder: Path) -> None:
    """Refuse a folder without a run, or with another version's run, before slow imports (``UsageError``)."""
    from pcevolve.public.run.folder import RunFolder

    RunFolder(folder).require_transcript()


def _complete(incomplete: str) -> list[str]:
    """Return a shell's completions for ``--set``."""
    return complete(run_options(), incomplete)


Overrides = Annotated[
    list[str] | None,
    Flag(
        ("--set",),
        metavar="SECTION.KEY=VALUE",
        help="Any other option, such as privacy.delta=1e-6. docs/options.md lists them all. May be repeated.",
        complete=_complete,
    ),
]


def takes(options: Iterable[Option]) -> Callable[[Command], Command]:
    """Add a flag for each of the given options to a command's own parameters.

    The command receives the options as keywords, as text, because the model checks them wherever they come
    from. An option that was not given is None.
    """

    def extend(command: Command) -> Command:
        declared = inspect.signature(command, eval_str=True)
        own = [each for each in declared.parameters.values() if each.kind is not each.VAR_KEYWORD]
        keywords = [_parameter(option) for option in options]
        positional = [each for each in own if each.kind is not each.KEYWORD_ONLY]
        rest = [each for each in own if each.kind is each.KEYWORD_ONLY]
        signature = declared.replace(parameters=[*positional, *keywords, *rest])
        command.__signature__ = signature  # type: ignore[attr-defined]  # click reads a command's parameters from it
        return command

    return extend


def describe(option: Option) -> str:
    """Return an option's help with its default and bounds."""
    facts = ["required"] if option.required else []
    facts += [f"default: {option.default}"] if option.default else []
    facts += [option.bounds] if option.bounds else []
    facts += [f"env: {option.setting.variable}"] if option.setting.variable else []
    return f"{option.help} [{'; '.join(facts)}]" if facts else option.help


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = bool if option.is_switch else list[str] if option.is_repeated else str
    choices = option.choices
    declaration = Flag(
        (option.flag,),
        help=describe(option),
        metavar=option.kind if choices else option.kind.upper() or None,
        heading=option.section.capitalize() or OPTIONS,
        complete=(lambda incomplete: [each for each in choices if each.startswith(incomplete)])
        if choices
        else None,
        shows_default=False,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,  # never required here: the model checks that, because a file may set it
        annotation=Annotated[kind | None, declaration],
    )
