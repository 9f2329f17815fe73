"""From a function's annotated parameters to a command of click: names, types and defaults are read off the signature.

>>> def greet(name: Annotated[str, Argument("NAME", "Whom.")], loud: Annotated[bool, Flag(help="Shout.")] = False): ...
>>> [each.name for each in list_parameters(greet)]
['name', 'loud']

typer reads signatures too, but builds an adapter of pydantic for each parameter, which takes longer than a whole page
of help.
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
    """What a parameter is on the command line, if it is given by a flag.

    Attributes:
        flags: Its names; of its parameter's own, if there are none.
        help: What it is for.
        metavar: What it takes; by its type if None.
        min: Least of a number.
        max: Most of a number.
        heading: Under which it stands in the help.
        complete: What a shell offers for what was typed of its value.
        tells: Whether the default is told behind the help.
    """

    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    heading: str = OPTIONS
    complete: Callable[[str], list[str]] | None = None
    tells: bool = True


@dataclass(frozen=True)
class PositionalArgument:
    """What a parameter is on the command line, if it is given by its place."""

    metavar: str
    help: str


class HeadedOption(click.Option):
    """An option that stands under a heading."""

    heading = OPTIONS


class HelpedArgument(click.Argument):
    """An argument that says what it is for."""

    help = ""


def list_parameters(function: Function) -> list[click.Parameter]:
    """The parameters of a command, as the function's signature declares them."""
    signature = inspect.signature(function, eval_str=True)
    return [
        _make_parameter(each)
        for each in signature.parameters.values()
        if get_origin(each.annotation) is Annotated
    ]


def make_callback(function: Function) -> Function:
    """The function as click calls it; one that asks for the context is given it."""
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
    # Not given where there is none: click takes None for the value of what is required.
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
        show_default=note.tells and usual.get("default") not in (None, False, ""),
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
