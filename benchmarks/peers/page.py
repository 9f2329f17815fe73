"""Writes what the comparison found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, summary, table

HEADER = ""


def written(rows: Sequence[Row], eye: str, voter: str) -> str:
    """The page."""
    return HEADER + "".join(
        _part(name, rows, eye, voter) for name in dict.fromkeys(row["setting"] for row in rows)
    )


def _part(setting: str, rows: Sequence[Row], eye: str, voter: str) -> str:
    here = [row for row in rows if row["setting"] == setting]
    columns = _columns(here, eye, voter)
    return f"## {setting}\n\n" + table(("", "seeds", *columns.values()), _lines(here, list(columns))) + "\n"


def _columns(rows: Sequence[Row], eye: str, voter: str) -> dict[str, str]:
    others = [each for each in ("cnn", "mobilenet", "squeezenet") if each in rows[0]]
    return {
        **{each: f"{each}, %" for each in others},
        voter: f"{voter}, %: **voted**",
        "frechet": f"Fréchet distance ({eye})",
        "images": "API images",
        "requests": "requests",
        "seconds": "seconds",
        "mib": "MiB",
    }


def _lines(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == name]
        figures = (summary(np.array([row[each] for row in own if each in row])) for each in columns)
        yield (name, str(len(own)), *figures)
