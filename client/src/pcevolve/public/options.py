"""Options: settings that people give by name, each declared once as the annotated type of a model's field.

The type has the bounds and the help (pydantic's ``Field``), and says where the option is shown and what becomes of it
(``Setting``). The command line, configuration files, the public plan and docs/options.md all read this declaration.
"""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pcevolve.errors import UsageError

Model = TypeVar("Model", bound=BaseModel)
Note = TypeVar("Note")
TypeHint: TypeAlias = object
Limit: TypeAlias = tuple[Any, str]
"""A bound of a number and its sign."""
_NAME = re.compile("[a-z]+([_-][a-z]+)*")
_KINDS: dict[object, str] = {int: "int", float: "number", Path: "path"}


def _as_written(value: object) -> object:
    """A number as text, digit by digit as it was given; anything else as it is."""
    is_number = isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else value


EXACT = BeforeValidator(_as_written)
"""Of a number that is kept as text, because it is taken exactly: 8, 8.0, "8" and Fraction(8) are the same to a user."""


def _nobody_typed(_name: str) -> None:
    """Options that come from the command line are called by their flags."""


_TYPED: ContextVar[Callable[[str], str | None]] = ContextVar("typed", default=_nobody_typed)


class Panel(StrEnum):
    """Headings of ``pcevolve run --help``, in their order."""

    MOST_USED = "Most used"
    DATA = "Private data"
    PRIVACY = "Privacy"
    EVOLUTION = "Evolution"
    IMAGES = "Images"
    TEXTS = "Texts"
    API = "Image API"
    ENCODER = "Encoder"
    TIMING = "Timing"


@dataclass(frozen=True)
class Setting:
    """Properties of an option besides its type, bounds and help.

    Attributes:
        panel: The heading that it stands under.
        public: Whether it becomes part of the public plan, which the provider and every reader of the result may see.
        resumable: Whether it may be another one when a run is resumed.
        flag: What the command line calls it, where that is not the field's name.
        variable: The environment variable that is used where the option is not given.
    """

    panel: Panel
    public: bool = False
    resumable: bool = False
    flag: str = ""
    variable: str = ""


@dataclass(frozen=True)
class Option:
    """One declared option of a model, as the command line and the reference show it.

    Attributes:
        name: The model's field.
        flag: What the command line calls it.
        setting: Where it is shown, and what becomes of it.
        help: One or two sentences.
        kind: What its value looks like: ``int``, ``matched|as-is``.
        bounds: ``1<=x<=100``; empty without.
        default: As text; empty where there is none, or none that is always the same.
        required: Whether it has to be given.
        is_switch: Whether it takes no value.
        is_repeated: Whether it may be given several times.
    """

    name: str
    flag: str
    setting: Setting
    help: str
    kind: str
    bounds: str
    default: str
    required: bool
    is_switch: bool
    is_repeated: bool


@cache
def options_of(model: type[BaseModel]) -> tuple[Option, ...]:
    """The options that a model declares, panel by panel, within a panel as declared.

    Raises:
        TypeError: A field has no ``Setting`` or no help.
    """
    hints = get_type_hints(model, include_extras=True)
    found = (_option(name, hints[name], field) for name, field in model.model_fields.items())
    return tuple(sorted(found, key=lambda option: list(Panel).index(option.setting.panel)))


@contextmanager
def typed_as(spelling: Callable[[str], str | None]) -> Iterator[None]:
    """Let messages call options as somebody typed them who did not type flags.

    Args:
        spelling: Is given a field's name; a keyword of Python, the key of a file, or None for the flag.
    """
    before = _TYPED.set(spelling)
    try:
        yield
    finally:
        _TYPED.reset(before)


def flag(name: str, model: type[BaseModel]) -> str:
    """Return what a message calls a field: as it was typed, which is by its flag unless ``typed_as`` says else."""
    if (spelled := _TYPED.get()(name)) is not None:
        return spelled
    known = get_type_hints(model, include_extras=True).get(name)
    return _flag(name, _first(Setting, _unwrapped(known)[1]))


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate options by the model that declares them; paths, and numbers of other libraries, are as good as text.

    Raises:
        UsageError: One is missing, unknown or out of bounds.
    """
    try:
        return model(**{name: _plain(name, value, model) for name, value in values.items()})
    except ValidationError as error:
        raise UsageError(first_fault(error, model)) from None


def _plain(name: str, value: object, model: type[BaseModel]) -> object:
    """A value as pydantic takes it, whoever made it.

    Raises:
        UsageError: It is yes or no where something else is asked for; pydantic would take it for 1 or 0.
    """
    if isinstance(value, bool) and name in model.model_fields and not _is_switch(name, model):
        raise UsageError(f"{flag(name, model)}: {value} is no value for it")
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _is_switch(name: str, model: type[BaseModel]) -> bool:
    return _unwrapped(get_type_hints(model, include_extras=True)[name])[0] is bool


def first_fault(error: ValidationError, model: type[BaseModel]) -> str:
    """One plain line about what is wrong with the options."""
    fault = error.errors(include_url=False, include_input=False)[0]
    said = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:  # about several options: it begins with one of them, or names them all itself
        name, _, rest = said.partition(": ")
        return f"{flag(name.replace('-', '_'), model)}: {rest}" if rest and _NAME.fullmatch(name) else said
    if fault["type"] == "missing":
        missing = [flag(str(each["loc"][0]), model) for each in error.errors() if each["type"] == "missing"]
        return f"{' and '.join(missing)} must be given: --help says more"
    if fault["type"] == "extra_forbidden":
        said = "there is no such option"
    place = fault["loc"]
    return f"{flag(str(place[-1] if place[0] == 'modality' else place[0]), model)}: {said}"


def _option(name: str, hint: TypeHint, field: FieldInfo) -> Option:
    kind, notes = _unwrapped(hint)
    setting = _first(Setting, notes)
    if setting is None or not _help(notes):
        raise TypeError(f"{name} does not say what it is for, or under which heading it stands")
    is_switch, is_repeated = kind is bool, get_origin(kind) is tuple
    return Option(
        name=name,
        flag=_flag(name, setting),
        setting=setting,
        help=_help(notes),
        kind="" if is_switch else _kind(kind),
        bounds=_bounds(notes),
        default="" if field.is_required() or is_switch or is_repeated else _text(field.default),
        required=field.is_required(),
        is_switch=is_switch,
        is_repeated=is_repeated,
    )


def _unwrapped(hint: TypeHint) -> tuple[TypeHint, tuple[object, ...]]:
    """A type without ``None`` and annotations, and all of its annotations."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        kind, more = _unwrapped(inner)
        return kind, (*more, *notes)
    if get_origin(hint) in {Union, UnionType}:
        (inner,) = (each for each in get_args(hint) if each is not NoneType)
        return _unwrapped(inner)
    return hint, ()


def _first(kind: type[Note], notes: tuple[object, ...]) -> Note | None:
    return next((each for each in notes if isinstance(each, kind)), None)


def _flag(name: str, setting: Setting | None) -> str:
    return (setting and setting.flag) or f"--{name.replace('_', '-')}"


def _kind(kind: TypeHint) -> str:
    if get_origin(kind) is tuple:
        return _kind(_unwrapped(get_args(kind)[0])[0])
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return _KINDS.get(kind, "text")


def _help(notes: tuple[object, ...]) -> str:
    """The last that is said: an option may say more than the setting of a plan that it fills."""
    texts = [each.description for each in notes if isinstance(each, FieldInfo) and each.description]
    return texts[-1] if texts else ""


def _bounds(notes: tuple[object, ...]) -> str:
    """The tightest bounds of a number among all that are declared: ``1<=x<=100``."""
    limits = [limit for note in notes if isinstance(note, FieldInfo) for limit in note.metadata]
    lower: list[Limit] = [(each.gt, ">") for each in limits if isinstance(each, Gt)]
    lower += [(each.ge, ">=") for each in limits if isinstance(each, Ge)]
    upper: list[Limit] = [(each.lt, "<") for each in limits if isinstance(each, Lt)]
    upper += [(each.le, "<=") for each in limits if isinstance(each, Le)]
    low, least = max(lower, key=lambda limit: (limit[0], limit[1] == ">"), default=(None, ""))
    high, most = min(upper, key=lambda limit: (limit[0], limit[1] == "<="), default=(None, ""))
    above = "" if high is None else f"{most}{_text(high)}"
    if low is None:
        return f"x{above}" if above else ""
    return f"{_text(low)}{least.replace('>', '<')}x{above}" if above else f"x{least}{_text(low)}"


def _text(default: object) -> str:
    """A default or a bound as people write it; nothing where there is none."""
    if default is None or default is PydanticUndefined:
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)
