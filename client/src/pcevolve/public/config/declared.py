"""Read options from the models that declare them. Each option is declared once, as the annotated type of a field.

The type contains the bounds and the help (pydantic's ``Field``), and further properties (``Setting``). Configuration
files, the public plan, docs/options.md and the command line's table all read this declaration. A model may group its
fields in sections, which are models too. A section may be one of several alternatives, such as the parameters of a
method.
"""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from operator import itemgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pcevolve.errors import UsageError
from pcevolve.public.config.options import Option, Setting, say_missing, spell_flag, suggest

Model = TypeVar("Model", bound=BaseModel)
Undecided = TypeVar("Undecided", bound=None)
"""Type of an option that may be left open: None among given options, and ``Never`` in a plan, where all are decided."""
UNDECIDED: Any = None
"""Default of an option that may be left open."""
NAME = "name"
"""The field that distinguishes the alternatives of a section."""
_WORD = re.compile("[a-z]+([_-][a-z]+)*")
_KINDS: dict[object, str] = {int: "int", float: "number", Path: "path"}
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
"""Bounds of a number, by their names in pydantic's metadata. ``>`` precedes ``>=``, and ``<`` precedes ``<=``."""


def _as_written(value: object) -> object:
    """Return a number as text, digit by digit as given, and any other value unchanged."""
    is_number = isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else value


EXACT = BeforeValidator(_as_written)
"""Keeps a number as exact text. 8, 8.0, "8" and Fraction(8) are the same to a user."""


@dataclass(frozen=True)
class PlanField:
    """How an option's field differs in a plan.

    Attributes:
        default: Its value in a plan to which it does not apply. Without a default the field is required.
        kind: Its type in a plan, if different.
    """

    default: object = PydanticUndefined
    kind: Any = None


def settled(section: type[Model]) -> type[Model]:
    """Derive a plan's section from a section of options. Options that may be left open must have a value in a plan."""
    fields: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        for note in field.metadata:
            if isinstance(note, PlanField):
                (kind,) = (each for each in _list_kinds(field) if each is not NoneType)
                fields[name] = (note.kind or Annotated[kind, *field.metadata], note.default)
    return create_model(section.__name__, __base__=section, __module__=section.__module__, **fields)


@cache
def list_options(model: type[BaseModel]) -> tuple[Option, ...]:
    """List the options of a model by section, the most used first.

    Raises:
        TypeError: An option has no help or no ``Setting``.
    """
    found: dict[str, Option] = {}
    for name, field in model.model_fields.items():
        for option in _options(name, field):
            known = found.get(option.name)
            found[option.name] = option if known is None else _join(known, option)
    if not is_sectioned(model):
        return tuple(found.values())
    used, sections = model.MOST_USED, [*model.model_fields]  # type: ignore[attr-defined]  # what makes it sectioned
    rank = {name: used.index(name) if name in used else len(used) for name in found}
    ordered = sorted(found.values(), key=lambda each: (sections.index(each.section), rank[each.name]))
    return tuple(replace(each, has_flag=each.name in used) for each in ordered)


def _join(known: Option, other: Option) -> Option:
    """Merge an option that several alternative sections have.

    The sections' names become the choices of the option that selects a section.
    """
    if other.key == NAME:
        return replace(known, kind=f"{known.kind}|{other.kind}")
    return replace(known, methods=(*known.methods, *other.methods))


def _options(name: str, field: FieldInfo) -> Iterator[Option]:
    """Yield the option of a field, or the options of a section or of each alternative section."""
    sections = [each for each in _list_kinds(field) if isinstance(each, type) and issubclass(each, BaseModel)]
    if not sections:
        yield _option("", name, field)
    common = set.intersection(*({*each.model_fields} for each in sections)) if sections else set()
    for section in sections:
        for key, own in section.model_fields.items():
            option = _option(name, key, own)
            yield option if key in common else replace(option, methods=(section.model_fields[NAME].default,))


def _list_kinds(field: FieldInfo) -> tuple[Any, ...]:
    """Return the alternatives of a field's type."""
    is_union = get_origin(field.annotation) in {Union, UnionType}
    return get_args(field.annotation) if is_union else (field.annotation,)


def spell(name: str, model: type[BaseModel]) -> str:
    """Return the name of an option in messages. A field that is not an option keeps its name."""
    found = [each.spelled for each in list_options(model) if each.name == name]
    return found[0] if found else name if is_sectioned(model) else spell_flag(name)


def is_sectioned(model: type[BaseModel]) -> bool:
    """Return True if a model has its options in sections. Only its ``MOST_USED`` options have flags."""
    return hasattr(model, "MOST_USED")


def validate(model: type[Model], values: Mapping[str, Any], named_by: type[BaseModel] | None = None) -> Model:
    """Validate options by the model that declares them. A path or another library's number counts as its text.

    Args:
        named_by: The model whose option names are used in messages, if it is another model.

    Raises:
        UsageError: An option is missing, unknown or out of bounds.
    """
    names = named_by or model
    given = (
        _nest(model, values)
        if is_sectioned(model)
        else {
            name: _plain(name, value, isinstance(value, bool) and _is_switch(name, model), names)
            for name, value in values.items()
        }
    )
    try:
        return model(**given)
    except ValidationError as error:
        raise UsageError(first_fault(error, names)) from None


def _nest(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Group values by section (``UsageError`` for an unknown option)."""
    known = {each.name: each for each in list_options(model)}
    nested: dict[str, Any] = {name: {} for name in model.model_fields}
    for name, value in values.items():
        if (option := known.get(name)) is None:
            raise UsageError(f"{spell(name, model)}: there is no such option{suggest(name, known)}")
        nested[option.section][option.key] = _plain(name, value, option.is_switch, model)
    return nested


def _plain(name: str, value: object, is_switch: bool, names: type[BaseModel]) -> object:
    """Convert a value to a type that pydantic accepts (``UsageError`` for True or False if it is no switch)."""
    if isinstance(value, bool) and not is_switch:
        raise UsageError(f"{spell(name, names)}: {value} is not a valid value")
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _is_switch(name: str, model: type[BaseModel]) -> bool:
    """Return True if a field takes yes or no, or is unknown. Another message refuses unknown fields."""
    return name not in model.model_fields or model.model_fields[name].annotation is bool


def word_fault(fault: Mapping[str, Any]) -> str:
    """Return a fault that pydantic found, in plain words."""
    known = {"extra_forbidden": "there is no such entry", "missing": "it is missing"}
    text = str(fault["msg"]).removeprefix("Value error, ")
    return known.get(fault["type"], re.sub("^(Input|Tuple|String) should", "it must", text))


def first_fault(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line about the first fault of the options."""
    faults = error.errors(include_url=False, include_input=False)
    fault = faults[0]
    text, name = fault["msg"].removeprefix("Value error, "), _name_at(fault["loc"], model)
    if not name:  # about several options: it begins with one of them, or names them all itself
        name, _, rest = text.partition(": ")
        is_name = rest and _WORD.fullmatch(name)
        return f"{spell(name.replace('-', '_'), model)}: {rest}" if is_name else text
    if fault["type"] == "missing":
        missing = {_name_at(each["loc"], model) for each in faults if each["type"] == "missing"}
        return say_missing(each for each in list_options(model) if each.name in missing)
    if fault["type"] == "extra_forbidden":
        owners = [each.methods for each in list_options(model) if each.name == name and each.methods]
        text = f"only for {', '.join(owners[0])}" if owners else "there is no such option"
    return f"{spell(name, model)}: {text}"


def _name_at(place: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return the option at pydantic's location, or "" for a complete model or section."""
    parts = [each for each in place if isinstance(each, str)]
    if not parts:
        return ""
    if is_sectioned(model) and parts[0] in model.model_fields:
        known = {each.path: each.name for each in list_options(model)}
        return known.get(f"{parts[0]}.{parts[-1]}", "")
    return parts[-1] if parts[0] == "modality" else parts[0]


def _option(section: str, key: str, field: FieldInfo) -> Option:
    """Return the option of a field. The field may be optional, and may use the type of another setting."""
    (kind,) = (each for each in _list_kinds(field) if each not in (NoneType, Undecided))
    inner = FieldInfo.from_annotation(kind)
    notes = [*inner.metadata, *field.metadata]
    # Reversed, so that the field's own ``Setting`` overrides the one of a reused type.
    setting = next((each for each in reversed(notes) if isinstance(each, Setting)), None)
    description = field.description or inner.description
    if setting is None or not description:
        raise TypeError(f"{key} does not say what it is for, or what becomes of it")
    is_switch, is_repeated = inner.annotation is bool, get_origin(inner.annotation) is tuple
    if is_repeated:
        notes += FieldInfo.from_annotation(get_args(inner.annotation)[0]).metadata
    return Option(
        name=setting.keyword or key,
        section=section,
        key=key,
        setting=setting,
        help=description,
        kind="" if is_switch else _kind(inner.annotation),
        bounds=_bounds(notes),
        default="" if field.is_required() or is_switch or is_repeated else _text(field.default),
        required=field.is_required(),
        is_switch=is_switch,
        is_repeated=is_repeated,
    )


def _kind(kind: Any) -> str:  # noqa: ANN401 - any type
    if get_origin(kind) is tuple:
        return _kind(FieldInfo.from_annotation(get_args(kind)[0]).annotation)
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else _KINDS.get(kind, "text")


def _bounds(notes: Sequence[object]) -> str:
    """Return the strictest of all declared bounds of a number, such as ``1<=x<=100``."""
    limits = [
        (getattr(note, word), sign) for word, sign in _SIGNS.items() for note in notes if hasattr(note, word)
    ]
    low, least = max((each for each in limits if ">" in each[1]), key=itemgetter(0), default=(None, ""))
    high, most = min((each for each in limits if "<" in each[1]), key=itemgetter(0), default=(None, ""))
    above = "" if high is None else f"{most}{_text(high)}"
    if low is None:
        return f"x{above}" if above else ""
    return f"{_text(low)}{least.replace('>', '<')}x{above}" if above else f"x{least}{_text(low)}"


def _text(default: object) -> str:
    """Return a default or a bound as text, or "" if there is none."""
    if default is None or default is PydanticUndefined:
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)
