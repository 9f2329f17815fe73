"""Rows of ``pcevolve-bench table text`` and its like, as a page and as a line for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import numpy as np

from pcevolve_benchmarks.texts.studies import Study

Row = dict[str, Any]

BUNDLED_ID: Final = "bundled-text"
"""What a server calls the bundled language model."""
SHOWN: Final = ("ngrams dataset", "ngrams both", "words dataset", "next word")
MEASURES: Final = ("Fréchet distance", "MAUVE", "distinct pairs", "copied words")
"""Shown where rows know them; the first two by the encoder that voted, or by the bundled one."""


def name_writer(row: Row) -> str:
    """The language model of a row, as its server calls it; rows of earlier versions are of the bundled one."""
    return str(row.get("writer", BUNDLED_ID))


def as_json(study: Study, rows: Sequence[Row]) -> dict[str, object]:
    """Mean accuracy of each method by the judge that did not vote, for programs; of several writers by name."""
    attacks = {row["method"]: row["attack"] for row in rows if row.get("attack")}
    shots = float(np.mean([row["ngrams private"] for row in rows]))
    by_writer = {name: _means(study, own) for name, own in _by_writer(rows).items()}
    return {
        "bench": study.name,
        "judge": "ngrams",
        **(next(iter(by_writer.values())) if len(by_writer) == 1 else {"writers": by_writer}),
        "shots": round(shots, 4),
        "rows": len(rows),
        **({"attack": attacks} if attacks else {}),
    }


def _means(study: Study, rows: Sequence[Row]) -> dict[str, float]:
    own = {name: [row["ngrams dataset"] for row in rows if row["method"] == name] for name in study.methods}
    return {name: round(float(np.mean(values)), 4) for name, values in own.items() if values}


def page(study: Study, rows: Sequence[Row]) -> str:
    """Write the page: what is measured, in words (``NAME.md`` beside this file), and all tables."""
    return (
        files(__package__).joinpath(f"{study.name}.md").read_text(encoding="utf-8")
        + "\n"
        + tables(study, rows)
    )


def tables(study: Study, rows: Sequence[Row]) -> str:
    """A Markdown table for each world; for each world and writer where there are several."""
    parts = []
    several = len(_by_writer(rows)) > 1
    for world, kinds in study.worlds.items():
        for writer, own in _by_writer([row for row in rows if row["world"] == world]).items():
            groups: dict[str, list[Row]] = defaultdict(list)
            for row in own:
                groups[row["method"]].append(row)
            by = f", by `{writer}`" if several else ""
            title = f"{world[0].upper()}{world[1:]} ({100 / len(kinds):.0f} % is luck){by}"
            parts.append(f"## {title}\n\n{_table(study, groups)}")
    return "\n".join(parts)


def _by_writer(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[name_writer(row)].append(row)
    return found


def _table(study: Study, groups: Mapping[str, Sequence[Row]]) -> str:
    heads = (
        "method",
        "seeds",
        "requests",
        "seconds",
        "ngrams",
        "ngrams, with shots",
        "words: **voted**",
        "next word",
        *(figure for figure in MEASURES if _is_known(groups, figure)),
        *(["attack ≤ r"] if _is_known(groups, "attack") else []),
    )
    lines = [heads, ("---",) * len(heads)]
    for name in (name for name in study.methods if groups.get(name)):
        own = groups[name]
        cells = [_cell(own, figure) for figure in SHOWN]
        more = [_number(own, figure) for figure in MEASURES if _is_known(groups, figure)]
        more += [_attacks(own)] if _is_known(groups, "attack") else []
        lines.append((name, str(len(own)), str(own[0]["requests"]), _seconds(own), *cells, *more))
    every = [row for own in groups.values() for row in own]
    private = [_cell(every, f"{judge} private") for judge in ("ngrams", "words", "next word")]
    rest = [
        _number(every, "distinct pairs private") if head == "distinct pairs" else "–" for head in heads[8:]
    ]
    lines.append(("shots", "–", "–", "–", private[0], "–", *private[1:], *rest))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(rows: Sequence[Row]) -> str:
    return f"{np.median([row['seconds'] for row in rows]):.0f}"


def _cell(rows: Sequence[Row], figure: str) -> str:
    """Mean and standard error over seeds, in percent."""
    values = 100 * np.array([row[figure] for row in rows])
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def _number(rows: Sequence[Row], figure: str) -> str:
    """Mean and standard error over seeds, as it is; a dash where no row knows it."""
    values = np.array([row[figure] for row in rows if row.get(figure) is not None], dtype=np.float64)
    if not len(values):
        return "–"
    # rounded first: of equal figures floating point leaves a difference
    error = f" ± {round(float(values.std(ddof=1) / np.sqrt(len(values))), 6):.2g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{error}"


def _is_known(groups: Mapping[str, Sequence[Row]], figure: str) -> bool:
    """True if any row knows a figure: those of earlier versions do not know all, and MAUVE is not everywhere."""
    return any(row.get(figure) is not None for own in groups.values() for row in own)


def _attacks(rows: Sequence[Row]) -> str:
    """The share of right guesses with its limits, and what is allowed; the same in all seeds, whose plans are alike."""
    own = [row["attack"] for row in rows if row.get("attack")]
    if not own:
        return "–"
    span = f"{own[0]['low']:.3f} … {own[0]['high']:.3f}"
    return f"{own[0]['success']:.3f} ({span}) of {own[0]['bound']:.3f}"
