"""Write both pages about the word anew from the rows that are there: ``python -m benchmarks.usefulness.again``.

Words follow from recorded numbers, so other bounds need no other measurement. Rows of before November 26 have in the
place of the classes' distance the standardised chi-squared that it follows from, and are converted.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.rows import Row
from benchmarks.usefulness import texts
from benchmarks.usefulness.__main__ import write
from benchmarks.usefulness.cases import Verdict
from pcevolve.geometry.frame import MOST_AXES
from pcevolve.public.usefulness import DIGITS


def main() -> None:
    """Read the rows and write rows and pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    out: Path = parser.parse_args().out
    write(out, [_again(row) for row in _rows(out / "usefulness.json")])
    texts.write(out, [_again(row) for row in _rows(out / "usefulness-texts.json")])


def _rows(file: Path) -> list[Row]:
    found: list[Row] = json.loads(file.read_text())
    return found


def _again(row: Row) -> Row:
    """A row with today's numbers and the word that today's bounds give it."""
    if "separation" in row:
        classes = len(row["set"].rpartition(":")[2].split(","))
        place = [*row].index("separation")
        apart = ("classes_apart", classes_apart(row["separation"], classes))
        row = dict([*list(row.items())[:place], apart, *list(row.items())[place + 1 :]])
    return {**row, "word": Verdict.of_row(row).assessment.word}


def classes_apart(separation: float, classes: int) -> float:
    """The distance of two released class means out of how unlikely noise alone makes what lies between all of them.

    Args:
        separation: Squared deviations of the classes in units of the noise, less their number of degrees of freedom,
            over the root of twice that number; of all ``MOST_AXES`` coordinates, as every frame here has.
        classes: How many there are, at least 2.
    """
    freedom = MOST_AXES * (classes - 1)
    beyond = float(separation * (2 * freedom) ** 0.5)
    return round((2 * max(beyond, 0.0) / (classes - 1)) ** 0.5, DIGITS)


if __name__ == "__main__":
    main()
