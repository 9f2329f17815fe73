"""Measurements that go on where they were cut off, and how figures over seeds are written."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Row = dict[str, Any]
Wanted = TypeVar("Wanted")


def resume(
    file: Path,
    missing: Callable[[Sequence[Row]], Iterable[Wanted]],
    measured: Callable[[Wanted], Row],
) -> list[Row]:
    """Measure what a file of rows lacks, and write it after each.

    Args:
        file: JSON, a row a line; it need not be there.
        missing: What is still to be measured, given what is known.
        measured: Measures it.
    """
    rows = json.loads(file.read_text()) if file.exists() else []
    for wanted in list(missing(rows)):
        rows.append(measured(wanted))
        print(json.dumps(rows[-1]), flush=True)
        file.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    return rows


def parser_of(told: str | None) -> argparse.ArgumentParser:
    """Return a parser of options whose help begins with a module's own words."""
    return argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)


def options(told: str | None, seeds: int) -> argparse.ArgumentParser:
    """Parse the options of a benchmark of runs in this process: how many seeds, and where pictures and results go."""
    parser = parser_of(told)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--pictures", type=Path, default=Path("runs/bench-selectors.pictures"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser


def measure_and_write(
    given: argparse.Namespace,
    name: str,
    missing: Callable[[Sequence[Row]], Iterable[tuple[Any, ...]]],
    measured: Callable[..., Row],
    page: Callable[[Sequence[Row]], str],
) -> None:
    """Measure on one thread what ``NAME.json`` lacks, as ``resume`` does, and write ``NAME.md``.

    Args:
        given: What ``options`` read.
        name: Of both files.
        missing: As for ``resume``.
        measured: Measures it, with the folder of pictures as its last argument.
        page: Makes the page of all rows.
    """
    import torch

    torch.set_num_threads(1)
    for folder in (given.pictures, given.out):
        folder.mkdir(parents=True, exist_ok=True)
    rows = resume(given.out / f"{name}.json", missing, lambda wanted: measured(*wanted, given.pictures))
    (given.out / f"{name}.md").write_text(page(rows))


def accuracy(row: Row, judge: str) -> float | None:
    """Return a judge's accuracy, 0 to 1, by a row's ``verdicts``; None if it was not asked."""
    return next((each["accuracy"] for each in row["verdicts"] if each["judge"] == judge), None)


def resume_in_steps(file: Path, steps: Mapping[str, Callable[[], Sequence[Row]]]) -> list[Row]:
    """As ``resume``, of many steps that give a few rows each; tells how long what is left will take.

    Args:
        file: JSON Lines, one for each step that is done; it need not be there.
        steps: By unique name, what measures it.

    Returns:
        The rows of all steps, in the order of the steps.
    """
    lines = file.read_text().splitlines() if file.exists() else []
    known: dict[str, Sequence[Row]] = {each["step"]: each["rows"] for each in map(json.loads, lines)}
    missing, started = [name for name in steps if name not in known], time.monotonic()
    for done, name in enumerate(missing, 1):
        known[name] = steps[name]()
        with file.open("a") as out:
            out.write(json.dumps({"step": name, "rows": known[name]}) + "\n")
        left = (len(missing) - done) * (time.monotonic() - started) / done
        print(f"{name}: {done} of {len(missing)}, {left / 60:.0f} minutes left", flush=True)
    return [row for name in steps for row in known[name]]


def summary(values: np.ndarray) -> str:
    """Mean and standard error; the mean alone of one; a dash where one is missing."""
    if np.isnan(values).any():
        return "–"
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [f"| {' | '.join(each)} |" for each in (heads, *lines)]
    return "\n".join([rows[0], "|---" * len(heads) + "|", *rows[1:]]) + "\n"
