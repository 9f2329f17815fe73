"""The table of options, which the command line reads instead of their declarations, with the standard library alone.

``make docs-options`` writes ``options.json`` from the declarations, because importing pydantic takes longer than
help or a refusal may take. The models also refuse every value that is refused here, in the same words. They check
everything else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, Final

from pcevolve.errors import UsageError
from pcevolve.public.config.options import Option, Setting, say_missing
from pcevolve.public.figures import parse_delta, parse_epsilon
from pcevolve.public.method_names import require_method

FILE: Final = Path(__file__).with_name("options.json")
_BOUNDS: Final = re.compile(r"(?:([^<]+)(<=?))?x(?:([<>]=?)(.+))?")
_RELATIONS: Final[dict[str, tuple[str, Callable[[float, float], bool]]]] = {
    ">": ("greater than", gt),
    ">=": ("greater than or equal to", ge),
    "<": ("less than", lt),
    "<=": ("less than or equal to", le),
}
_NO_NUMBER: Final = {
    "int": "Input should be a valid integer, unable to parse string as an integer",
    "number": "Input should be a valid number, unable to parse string as a number",
}
_WHOLE: Final = re.compile(r"[+-]?[0-9]+(_[0-9]+)*(\.0*)?", re.ASCII)
_SWITCHES: Final = frozenset(["0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"])
_LONGEST: Final = 40
"""Largest number of characters of a number that is checked here."""


def run_options() -> tuple[Option, ...]:
    """Return all options of a run, as ``list_options(RunConfig)`` does."""
    return list_command_options("run")


@cache
def list_command_options(command: str) -> tuple[Option, ...]:
    """Return the options of ``run``, ``budget plan`` or ``audit-dp``, as ``list_options`` does for their models."""
    return tuple(_read(row) for row in json.loads(FILE.read_text("utf-8"))[command])


def spell_option(name: str) -> str:
    """Return the name of a run's option in messages."""
    return next(each.spelled for each in run_options() if each.name == name)


def _read(row: dict[str, Any]) -> Option:
    return Option(**{**row, "setting": Setting(**row["setting"]), "methods": tuple(row["methods"])})


def write_table(commands: Mapping[str, Iterable[Option]]) -> str:
    """Return the text of ``options.json`` for each command's options."""
    rows = {command: [asdict(each) for each in options] for command, options in commands.items()}
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def require_given(values: Mapping[str, Any]) -> None:
    """Refuse a run that lacks a required option (``UsageError``)."""
    if missing := [each for each in run_options() if each.required and each.name not in values]:
        raise UsageError(say_missing(missing))


def require_sound(values: Mapping[str, Any]) -> None:
    """Refuse the first option whose declaration forbids the type, word or size of its value (``UsageError``)."""
    for option in run_options():
        value = values.get(option.name)
        if value is None:
            continue
        if option.name == "epsilon":
            parse_epsilon(value)
        if option.name == "method":
            require_method(str(value), option.choices)
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, str | int | float) and (fault := _find_fault(option, each)):
                raise UsageError(f"{option.spelled}: {fault}")


def _find_fault(option: Option, value: str | float) -> str:
    """Return the fault of a value in pydantic's words, or "" if there is none or only the model can find it."""
    if option.is_switch:
        known = isinstance(value, bool) or str(value).strip().lower() in _SWITCHES
        return "" if known else "Input should be a valid boolean, unable to interpret input"
    if option.choices:
        *first, last = (repr(each) for each in option.choices)
        return "" if value in option.choices else f"Input should be {', '.join(first)} or {last}"
    if option.kind not in _NO_NUMBER or len(str(value)) > _LONGEST:
        return ""
    if option.kind == "int" and isinstance(value, str) and not _WHOLE.fullmatch(value.strip()):
        return _NO_NUMBER["int"]
    try:
        number = float(value)
    except ValueError:
        return _NO_NUMBER["number"]
    if option.name == "delta":
        return _find_delta_fault(number)
    broken = (f"{words} {limit}" for words, limit in _list_broken(number, option.bounds))
    return next((f"Input should be {each}" for each in broken if math.isfinite(number)), "")


def _find_delta_fault(delta: float) -> str:
    try:
        parse_delta(delta)
    except UsageError as error:
        return str(error)
    return ""


def _list_broken(number: float, bounds: str) -> Iterator[tuple[str, str]]:
    """Yield each bound that a number violates: the relation and the limit."""
    if found := _BOUNDS.fullmatch(bounds):
        low, least, sign, high = found.groups()
        for relation, limit in ((least and least.replace("<", ">"), low), (sign, high)):
            if limit:
                words, holds = _RELATIONS[relation]
                if not holds(number, float(limit)):
                    yield words, limit if limit.isdigit() else f"{float(limit):.15g}"
