"""Places of what belongs to a user and not to a run: private data, the ledger, and the key of an API."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from pcevolve.errors import UsageError
from pcevolve_shared.reading import read_file

KEY_VARIABLE = "PCEVOLVE_API_KEY"
REWRITER_KEY_VARIABLE = "PCEVOLVE_REWRITER_KEY"
LEDGER_VARIABLE = "PCEVOLVE_LEDGER"
VOLUME_VARIABLE = "PCEVOLVE_LEDGER_VOLUME"
MOST_KEY_BYTES = 2**16
REST = "rest"
"""The value of ``test`` that measures on the images that ``subsample`` did not draw."""
COMES_WITH_IT = ("cells", "digits", "terms")
"""Private data for trying things out; see ``private.sources``."""


def _absolute(text: str) -> str:
    """A path that is the same from wherever a run is continued; names that are no paths stay as they are."""
    kind = text.partition(":")[0]
    return text if kind in (*COMES_WITH_IT, REST) or not text.strip() else str(Path(text).absolute())


FileText = Annotated[str, AfterValidator(_absolute)]


def find_ledger() -> Path:
    """One ledger per user, because the budget belongs to the data and not to a run."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get(LEDGER_VARIABLE) or Path(state) / "pcevolve" / "ledger.sqlite").absolute()


def find_ledger_volume() -> Path | None:
    """The folder that keeps ledgers where everything else is thrown away, as in a container; None elsewhere."""
    folder = os.environ.get(VOLUME_VARIABLE)
    return Path(folder) if folder else None


def read_key(path: Path | None, variable: str = KEY_VARIABLE) -> str | None:
    """An API's key, from a file that nobody else can read (else ``UsageError``), or the environment."""
    return os.environ.get(variable) or None if path is None else read_key_file(path)


def read_key_file(path: Path | None) -> str | None:
    """A key from a file that nobody else can read (else ``UsageError``); none without a file."""
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
