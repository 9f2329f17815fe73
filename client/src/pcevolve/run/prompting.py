"""Several prompts for each class: from a file, from the grammar, or none; and how the file looks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.settings import Prompt
from pcevolve.public.wordings import usual_prompts
from pcevolve_shared.reading import read_file

Prompts = tuple[tuple[str, ...], ...]
"""Of each class, in the order of the labels."""
_FILE = TypeAdapter(dict[str, list[Prompt]])
MOST_BYTES = 2**24
"""Of a file of prompts."""
_NAMED = 5  # classes named in one error


def prompts_for(
    path: Path | None, count: int, domain: str, labels: Sequence[str], option: str = "--prompts"
) -> Prompts:
    """The prompts of each class; empty if the template makes its only one.

    Args:
        path: Of a file that ``written`` wrote or a person did; None: the grammar's.
        count: How many of the grammar's for each class; 0 for none.
        domain: Public words for what the images show.
        labels: The classes.
        option: That named the file.

    Raises:
        UsageError: The file is not one, or its classes are not those of the run.
    """
    if path is not None:
        return _of_file(path, labels, option)
    return tuple(usual_prompts(domain, label, count) for label in labels) if count else ()


def written(prompts: Mapping[str, Sequence[str]]) -> str:
    """The text of a file of prompts."""
    return json.dumps(prompts, indent=1, ensure_ascii=False) + "\n"


def _of_file(path: Path, labels: Sequence[str], option: str) -> Prompts:
    try:
        found = _FILE.validate_json(read_file(path, MOST_BYTES))
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "/".join(str(each) for each in first["loc"]) or "the file"
        raise UsageError(
            f"{option} {path}: {place}: {first['msg']}; it needs one list of prompts for each class: "
            '{"CLASS": ["A ...", "Another ..."]}'
        ) from None
    if missing := [label for label in labels if not found.get(label)]:
        raise UsageError(f"{option} {path}: no prompt for {_listed(missing)}")
    if foreign := found.keys() - set(labels):
        raise UsageError(f"{option} {path}: {_listed(sorted(foreign))}: no such class in --private")
    if len({len(each) for each in found.values()}) > 1:
        raise UsageError(f"{option} {path}: every class needs as many prompts as every other")
    return tuple(tuple(found[label]) for label in labels)


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return ", ".join(repr(each) for each in labels[:_NAMED]) + more
