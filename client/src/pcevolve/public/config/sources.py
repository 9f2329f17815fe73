"""Sources of options: a TOML file, the environment, ``--set`` and flags. Each source overrides the earlier ones.

Only the standard library is used, because importing pydantic-settings takes longer than a refusal may take
(decision 60).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pcevolve.errors import UsageError
from pcevolve.public.config.options import Option, spell_as, suggest
from pcevolve.public.config.table import require_sound, run_options
from pcevolve_shared.reading import read_file

PREFIX, BETWEEN = "PCEVOLVE_", "__"
"""Prefix and separator of environment variables, as in ``PCEVOLVE_PRIVACY__DELTA``."""
MOST_TOML_BYTES = 2**17
_DEEP_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]+[ \t]*\.[ \t]*){16}""")
"""A key of many parts, on which Python's TOML reader takes quadratic time."""


@contextmanager
def gather(
    flags: Mapping[str, Any], overrides: Iterable[str] = (), file: Path | None = None
) -> Iterator[Mapping[str, Any]]:
    """Collect a user's options for a run, by name. Inside the context, messages name each option as it was given.

    Args:
        flags: Flags by name. None or empty if not given.
        overrides: Values of ``--set``, each ``section.key=value``.
        file: A TOML file of options.

    Raises:
        UsageError: The file cannot be read, a key is not an option, or the declaration forbids a value.
    """
    options, flags = run_options(), drop_unset(flags)
    values: dict[str, Any] = {}
    spelling: dict[str, str] = {}
    if file is not None:
        found = name_options(read_toml(file), options, str(file))
        paths = {each.name: each.path for each in options}
        values, spelling = {**found}, {name: f"{paths[name]} in {file}" for name in found}
    for name, (variable, value) in _environment(options).items():
        values[name], spelling[name] = value, variable
    sets: set[str] = set()
    for each in overrides:
        option, value = parse_set(each, options)
        if option.is_repeated and option.name in sets:
            raise UsageError(
                f"--set {option.path} is given twice: give several values at once, separated by commas"
            )
        sets.add(option.name)
        if (
            value
        ):  # ``key=`` with nothing behind is not given, as from a variable of a compose file that is not set
            values[option.name], spelling[option.name] = value, option.path
    for name in flags:
        spelling.pop(name, None)
    asked = {**values, **flags}
    with spell_as(spelling.get):
        require_sound(asked)
        yield asked


def drop_unset(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: neither None nor an empty list."""
    return {name: value for name, value in values.items() if value is not None and value not in ([], ())}


def parse_set(text: str, options: Sequence[Option]) -> tuple[Option, object]:
    """Parse one ``--set`` into an option and its value, which is a text or a list of texts.

    Raises:
        UsageError: The text is not ``section.key=value``, or there is no such option.
    """
    path, equals, value = text.partition("=")
    option = _find_option(path.strip(), options, "--set: ")
    if not equals:
        raise UsageError(f"--set {text}: give a value: --set {option.path}=VALUE")
    if not option.is_repeated:
        return option, value.strip()
    return option, _several(value)


def _several(text: str) -> list[object]:
    """Parse values separated by commas, or a TOML list for values that contain a comma."""
    try:
        found = tomllib.loads(f"it = {text}", parse_float=str)["it"]
    except tomllib.TOMLDecodeError:
        found = None
    return found if isinstance(found, list) else [each.strip() for each in text.split(",") if each.strip()]


def name_options(written: Mapping[str, Any], options: Sequence[Option], place: str) -> dict[str, Any]:
    """Return the options of a file by name. Dashes count as underscores (``UsageError`` for an unknown option)."""
    found: dict[str, Any] = {}
    for section, part in written.items():
        if not isinstance(part, Mapping):
            raise UsageError(f"{place}: {_unknown(section, options)}")
        for key, value in part.items():
            found[_find_option(f"{section}.{key}", options, f"{place}: ").name] = value
    return found


def _find_option(path: str, options: Sequence[Option], before: str) -> Option:
    known = {each.path: each for each in options}
    if (option := known.get(path.replace("-", "_"))) is None:
        raise UsageError(f"{before}{_unknown(path, options)}")
    return option


def _unknown(path: str, options: Sequence[Option]) -> str:
    """Return the message for an unknown key, with a suggestion."""
    paths = {each.path: each.name for each in options}
    name = path.replace("-", "_").rpartition(".")[2]
    same = [key for key, each in paths.items() if name in (each, key.partition(".")[2])]
    meant = f"; did you mean {same[0]}?" if same else suggest(path, paths)
    return f"there is no option '{path}'{meant or '; docs/options.md lists all, as section.key'}"


def _environment(options: Sequence[Option]) -> dict[str, tuple[str, object]]:
    """Return options set by environment variables, by name (``UsageError`` if one names no option)."""
    found: dict[str, tuple[str, object]] = {}
    for variable, text in os.environ.items():
        if variable.upper().startswith(PREFIX) and BETWEEN in variable:
            path = variable[len(PREFIX) :].lower().replace(BETWEEN, ".", 1)
            option = _find_option(path, options, f"{variable} in the environment: ")
            if text.strip():  # an empty one is not given, as of a compose file
                found[option.name] = variable, _several(text) if option.is_repeated else text.strip()
    return found


def complete(known: Sequence[Option], incomplete: str) -> list[str]:
    """Return completions of ``--set``: keys, and after ``=`` the words that the option allows."""
    path, equals, word = incomplete.partition("=")
    options = {each.path: each for each in known}
    if not equals:
        return [f"{each}=" for each in options if each.startswith(path)]
    choices = options[path].choices if path in options else ()
    return [f"{path}={each}" for each in choices if each.startswith(word)]


def read_toml(path: Path, kind: str = "configuration") -> dict[str, Any]:
    """Read a TOML file of options (``UsageError`` if it is missing or invalid)."""
    try:
        text = read_file(path, MOST_TOML_BYTES).decode()
        if _DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{kind} {path} cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:  # TOML's and Unicode's errors are ValueErrors
        raise UsageError(f"{kind} {path} cannot be read: {getattr(error, 'strerror', error)}") from error
