"""Turn a function's annotated parameters into a click command: names, types and defaults come from the signature.

>>> def greet(name: Annotated[str, Argument("NAME", "Whom.")], loud: Annotated[bool, Flag(help="Shout.")] = False): ...
>>> [each.name for each in list_parameters(greet)]
['name', 'loud']

typer reads signatures too, but builds a pydantic adapter for each parameter, which takes longer than a whole
page of help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

Function: TypeAlias = Callable[..., None]
OPTIONS: Final = "Options"
ARGUMENTS: Final = "Arguments"
_METAVARS: Final = {str: "TEXT", Path: "PATH", int: "INT", float: "NUMBER"}


@dataclass(frozen=True)
class Flag:
    """Describes a parameter that is given by a flag.

    Attributes:
        flags: Names of the flag; if there are none, the parameter's name is used.
        help: Help text.
        metavar: Placeholder of the value in the help; None to derive it from the type.
        min: Smallest value of a number.
        max: Largest value of a number.
        heading: Heading in the help.
        complete: Returns a shell's completions for the typed part of the value.
        shows_default: Whether the help shows the default.
    """

    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    heading: str = OPTIONS
    complete: Callable[[str], list[str]] | None = None
    shows_default: bool = True


@dataclass(frozen=True)
class PositionalArgument:
    """Describes a parameter that is given by its position."""

    metavar: str
    help: str


class HeadedOption(click.Option):
    """An option with a heading."""

    heading = OPTIONS


class HelpedArgument(click.Argument):
    """An argument with a help text."""

    help = ""


def list_parameters(function: Function) -> list[click.Parameter]:
    """Return the parameters of a command, as declared in the function's signature."""
    signature = inspect.signature(function, eval_str=True)
    return [
        _make_parameter(each)
        for each in signature.parameters.values()
        if get_origin(each.annotation) is Annotated
    ]


def make_callback(function: Function) -> Function:
    """Return the function as click calls it; pass click's context if the function has a parameter for it."""
    if any(each.name == "context" for each in inspect.signature(function).parameters.values()):
        return lambda **values: function(click.get_current_context(), **values)
    return function


def _make_parameter(declared: inspect.Parameter) -> click.Parameter:
    annotation, note = get_args(declared.annotation)[:2]
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (each for each in get_args(annotation) if each is not NoneType)
    is_list = get_origin(annotation) is list
    kind = get_args(annotation)[0] if is_list else annotation
    required = declared.default is declared.empty
    # No default if there is none: click would take None for the value of a required parameter.
    usual = {} if required or is_list else {"default": declared.default}
    if isinstance(note, PositionalArgument):
        ending = f"{note.metavar}{'...' * is_list}"
        argument = HelpedArgument(
            [declared.name],
            type=_type(kind),
            nargs=-1 if is_list else 1,
            required=required,
            metavar=ending if required else f"[{ending}]",
            callback=(lambda _context, _parameter, value: [*value]) if is_list else None,
            **usual,
        )
        argument.help = note.help
        return argument
    option = HeadedOption(
        [declared.name, *(note.flags or [f"--{declared.name.replace('_', '-')}"])],
        type=click.BOOL if kind is bool else _type(kind, note.min, note.max),
        is_flag=kind is bool,
        multiple=is_list,
        required=required,
        show_default=note.shows_default and usual.get("default") not in (None, False, ""),
        help=note.help,
        metavar=None if kind is bool else note.metavar or _METAVARS[kind],
        callback=(lambda _context, _parameter, value: [*value]) if is_list else None,
        shell_complete=_offer(note.complete) if note.complete else None,
        **usual,
    )
    option.heading = note.heading
    return option


def _type(kind: type, least: float | None = None, most: float | None = None) -> click.ParamType[Any, Any]:
    if kind is Path:
        return click.Path(path_type=Path)
    if least is None and most is None:
        return click.INT if kind is int else click.FLOAT if kind is float else click.STRING
    if kind is int:
        return click.IntRange(None if least is None else int(least), None if most is None else int(most))
    return click.FloatRange(least, most)


def _offer(complete: Callable[[str], list[str]]) -> Callable[..., list[CompletionItem]]:
    return lambda _context, _parameter, incomplete: [CompletionItem(each) for each in complete(incomplete)]
