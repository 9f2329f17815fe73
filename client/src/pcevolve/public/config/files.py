"""Files that options name and that outlive a run: private data, the ledger, API keys, lists of prompts."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, TypeAdapter, ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.config.data_source import OWNERS
from pcevolve.public.config.providers import KEY_VARIABLE
from pcevolve.public.requests import Prompt
from pcevolve.public.words import make_prompts, nfc
from pcevolve_shared.reading import read_file

LEDGER_VARIABLE = "PCEVOLVE_LEDGER"
VOLUME_VARIABLE = "PCEVOLVE_LEDGER_VOLUME"
MOST_KEY_BYTES = 2**16
REST = "rest"
"""The value of the option ``test`` for measuring accuracy on the images that ``subsample`` did not draw."""
COMES_WITH_IT = ("cells", "digits", "terms")
"""Sample data that come with the package (see ``public.config.data_source``)."""


def _absolute(text: str) -> str:
    """Make a path absolute, so that a run can be resumed from any folder. Other values are returned unchanged."""
    kind, colon, path = text.partition(":")
    if kind == OWNERS and colon:
        return f"{OWNERS}:{Path(path).absolute()}"
    return text if kind in (*COMES_WITH_IT, REST) or not text.strip() else str(Path(text).absolute())


FileText = Annotated[str, AfterValidator(_absolute)]


def find_ledger() -> Path:
    """Return the user's ledger. All runs share it, because the budget belongs to the data rather than to a run."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get(LEDGER_VARIABLE) or Path(state) / "pcevolve" / "ledger.sqlite").absolute()


def find_ledger_volume() -> Path | None:
    """Return the folder in which ledgers outlive a container; None outside a container.

    All other files of a container are lost at its end.
    """
    folder = os.environ.get(VOLUME_VARIABLE)
    return Path(folder) if folder else None


def read_key(path: Path | None) -> str | None:
    """Read an API key from a file or, without a path, from the environment (``UsageError`` if others can read it)."""
    return os.environ.get(KEY_VARIABLE) or None if path is None else read_key_file(path)


def read_key_file(path: Path | None) -> str | None:
    """Read a key from a file (``UsageError`` if others can read the file). None if there is no path."""
    if path is None:
        return None
    try:
        mode = path.stat().st_mode
        text = read_file(path, MOST_KEY_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the key file {path} cannot be read: {error}") from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(f"others can read {path}: run chmod 600 on it")
    return text


Prompts = tuple[tuple[str, ...], ...]
"""Prompts of each class, in the order of the labels."""
_FILE = TypeAdapter(dict[str, list[Prompt]])
MOST_BYTES = 2**24
"""Largest number of bytes of a file of prompts."""
_MOST_NAMED = 5  # classes named in one error


def read_prompts(
    path: Path | None,
    count: int,
    domain: str,
    labels: Sequence[str],
    option: str = "provider.prompts",
    words: Sequence[str] = (),
) -> Prompts:
    """Return the prompts of each class, or nothing if the template gives the only prompt.

    Args:
        path: The file of prompts, if there is one.
        count: The number of prompts that the grammar makes for each class. 0 for none.
        words: Words for each class in the grammar's prompts. By default its label.

    Raises:
        UsageError: The file is invalid, or its classes are not the classes of the run.
    """
    if path is not None:
        return _of_file(path, labels, option)
    topics = [each or domain for each in words] or labels
    return tuple(make_prompts(domain, each, count) for each in topics) if count else ()


def spell_prompts(prompts: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a file of prompts."""
    return json.dumps(prompts, indent=1, ensure_ascii=False) + "\n"


def _of_file(path: Path, labels: Sequence[str], option: str) -> Prompts:
    try:
        found = {nfc(name): each for name, each in _FILE.validate_json(read_file(path, MOST_BYTES)).items()}
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
        raise UsageError(f"{option} {path}: no prompt for {_name_labels(missing)}")
    if foreign := found.keys() - set(labels):
        raise UsageError(f"{option} {path}: {_name_labels(sorted(foreign))}: no such class in --private")
    if len({len(each) for each in found.values()}) > 1:
        raise UsageError(f"{option} {path}: every class needs the same number of prompts")
    return tuple(tuple(found[label]) for label in labels)


def _name_labels(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    return ", ".join(repr(each) for each in labels[:_MOST_NAMED]) + more
