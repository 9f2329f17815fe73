"""Write an initial configuration file: a run's options with explanations, made from the options' declarations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import tomli_w

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.declared import list_options
from pcevolve.public.config.options import Option
from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.methods import USUAL_BOUND, USUAL_PRIOR

NAME = "pcevolve.toml"
WIDTH = 100
HEAD = """\
# Options of `pcevolve run --config {name}`. The command line overrides this file.
# Paths are relative to the folder in which the command is run. Options marked [public] become part of
# the public plan, which the provider sees. All other options stay on this machine.
#
#   pcevolve check {private}                 checks the private images first; sends and spends nothing
#   pcevolve run --config {name}
"""
MORE = """\
# These are the most common options; `pcevolve init --all` writes all options.
"""
FIRST = {"private": "private-images", "out": "runs/first", "domain": "leather texture"}
"""Placeholders for required options, for the user to replace."""
EXAMPLES = {"int": 16, "number": 1.0, "path": "FILE", "text": "..."}
"""Examples for options without a default, by the options' type."""
BY_NAME: Mapping[str, float | str] = {
    "delta": USUAL_DELTA,
    "secret_prior": USUAL_PRIOR,
    "secret_bound": USUAL_BOUND,
    "window": "-160,240",
    "image_hosts": "images.example",
}
"""Examples for options for which their type's example is wrong."""


def write_template(folder: Path, force: bool, whole: bool = False) -> Path:
    """Write an annotated configuration file, and return its path; ``UsageError`` if it cannot be written."""
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(render_template(whole))
    except FileExistsError:
        if folder.is_dir():
            raise UsageError(f"{path} already exists: --force overwrites it") from None
        raise UsageError(f"{folder} is a file: give a folder") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return path


def name_required() -> list[str]:
    """Return the options that every user has to change in the file, as ``section.key``."""
    paths = {each.name: each.path for each in list_options(RunConfig)}
    return [paths[name] for name in ("private", "domain", "out")]


def render_template(whole: bool) -> str:
    """Return the text of the file: the most used options with their defaults, the others commented out."""
    lines = [HEAD.format(name=NAME, private=FIRST["private"]) + ("" if whole else MORE)]
    shown = [each for each in list_options(RunConfig) if whole or each.name in RunConfig.MOST_USED]
    for section, options in groupby(shown, key=lambda option: option.section):
        lines.append(f"[{section}]")
        for option in sorted(options, key=lambda option: option.name not in RunConfig.MOST_USED):
            lines += [*_comment(option), _spell_option(option, option.name in RunConfig.MOST_USED), ""]
    return "\n".join(lines).rstrip() + "\n"


def _comment(option: Option) -> Iterator[str]:
    facts = [option.kind] if option.kind else []
    facts += [option.bounds] if option.bounds else []
    facts += [f"of {', '.join(option.methods)}"] if option.methods else []
    facts += ["public"] if option.setting.public else []
    facts += [f"or the environment's {option.setting.variable}"] if option.setting.variable else []
    text = option.help + (f" [{'; '.join(facts)}]" if facts else "")
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def _spell_option(option: Option, plainly: bool) -> str:
    """Return a line with an option and its value, commented out if the value is the default or missing."""
    default = FIRST.get(option.name, option.default)
    value = _example(option) if default == "" else _spell_default(option, default)
    line = " ".join(tomli_w.dumps({option.key: value}).split("\n")).strip()
    return line if plainly and default != "" else f"#{line}"


def _spell_default(option: Option, default: str) -> object:
    kinds = {"int": int, "number": float}
    return kinds.get(option.kind, str)(default)


def _example(option: Option) -> object:
    """Return an example value for an option without a default; for a choice, the first one."""
    if option.choices:
        return [option.choices[0]] if option.is_repeated else option.choices[0]
    if option.is_switch:
        return True
    if option.is_repeated:
        return [BY_NAME.get(option.name, EXAMPLES[option.kind])]
    return BY_NAME.get(option.name, EXAMPLES[option.kind])
