"""Prompts of a person's own for the row LE, which has the built-in grammar's otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pcevolve.durable import write_durably
from pcevolve.errors import UsageError
from pcevolve.session.planning import prompts_for
from pcevolve_benchmarks.tables.data import BenchData, classes
from pcevolve_benchmarks.tables.table import LE, Table, Variant

OPTION = "--le-prompts"


def with_prompts(table: Table, path: Path) -> Table:
    """A table whose row LE has the prompts of a file; cells depend on what it says, not on where it lies.

    Raises:
        UsageError: The table has no row LE, or there is no such file.
    """
    if LE not in table.rows:
        raise UsageError(f"{OPTION}: the table {table.name!r} has no row LE: leave it out")
    own = Variant(f"LE (prompts of {path.name})", {**LE.options, "prompts": kept_as(path)})
    return replace(table, rows=tuple(own if row == LE else row for row in table.rows))


def keep_prompts(path: Path, data: Sequence[BenchData], out: Path) -> None:
    """Check a file of prompts, and copy it to where the runs read it.

    Raises:
        UsageError: It is none, or is of other classes; or there are several data sets, with classes of their own.
    """
    if len(data) > 1:
        raise UsageError(f"{OPTION} names the classes of one data set: make one table for each --data")
    prompts_for(path, 0, data[0].words, classes(data[0].train), OPTION)
    kept = kept_in(out, kept_as(path))
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_durably(kept, path.read_bytes())


def kept_as(path: Path) -> str:
    """What a file of prompts is called where it is kept: a digest of what it says.

    Raises:
        UsageError: There is no such file.
    """
    try:
        return f"{hashlib.sha256(path.read_bytes()).hexdigest()}.json"
    except OSError as error:
        raise UsageError(f"{OPTION} {path}: {error.strerror or error}") from None


def kept_in(out: Path, name: str) -> Path:
    """Where a file of prompts is kept, in the folder of all tables."""
    return out / "prompts" / name
