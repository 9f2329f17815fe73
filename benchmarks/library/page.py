"""The page of the library's figures, out of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.judges import CNN
from benchmarks.library.cases import (
    CANDIDATES,
    CASES,
    CONTENDERS,
    DEFAULT,
    EPSILON,
    ONE_ROUND,
    SELECT_5,
    SELECT_7,
    SHOTS,
    THREE_ROUNDS,
    Case,
)
from benchmarks.library.judges import HEADS
from benchmarks.rows import Row, summary, table

HEADER = f"""# A library of public images as a provider

Written by `python -m benchmarks.library`: a library of 7,331 public images of 18 domains ([licences and words
included](../your-model.md#a-library-of-public-images)), {SHOTS} private shots per class, ε = {EPSILON}, δ = 1e-5 where
a method has one, replace-one, {CANDIDATES} images per class. Classes are called "type 1", "type 2", so that the private
images alone tell them apart. Accuracies on held-out real images, %, mean ± standard error over seeds (each another draw
of shots, noise and answers); linear heads on encoders that took no part{{pixels}}.
*Bought*: images per class that the provider sent. *Distinct*: share of the dataset that are no copies of
another of its images. Figures of fewer than ten seeds are a first look and decide nothing.

`dp-means` is what a run without options does: it selects {CANDIDATES} of {4 * CANDIDATES} images and may bring them to
a released appearance, which costs a part of ε. *As-is* does without: 4, 5 or 7 N images to select from. With T rounds,
ten prototypes per class are varied, at strengths 0.6 to 0.4, and {CANDIDATES} are selected from all;
T = 1 buys as many images as 5 N, T = 3 as many as 7 N.

Runs are of the client's own loop, judge and ledger on the server's library, in one process and with seeded noise.
"""
PIXELS = ", and of some rows a network from scratch"
ROUNDS = ((ONE_ROUND, SELECT_5), (THREE_ROUNDS, SELECT_7))
PAIRS = (("as-is, 4 N", DEFAULT), (SELECT_7, "as-is, 4 N"), *ROUNDS)


def page(rows: Sequence[Row]) -> str:
    """All tables."""
    header = HEADER.format(pixels=PIXELS if any(_accuracies(rows, CNN)) else "")
    parts = [header, *(_of_set(case, rows) for case in CASES), _pairs(rows), _write_tuned(rows)]
    return "\n".join(part for part in parts if part)


def _of_set(case: Case, rows: Sequence[Row]) -> str:
    own = [row for row in rows if row["world"] == case.world]
    lines = [_line(each.name, own) for each in CONTENDERS if not each.tuning and _of(own, each.name)]
    if not lines:
        return ""
    heads = ["", "seeds", "bought", "MobileNet", "SqueezeNet", "CNN (seeds)", "distinct"]
    about = f'{case.about.role.capitalize()}; asked for as "{case.asked}". The library has {case.shown}.'
    return f"## {case.about.title}\n\n{about}\n\n{_table(heads, lines)}"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table without the columns that are empty in every line."""
    kept = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    return table([heads[place] for place in kept], [[line[place] for place in kept] for line in lines])


def _line(name: str, rows: Sequence[Row]) -> list[str]:
    found = _of(rows, name)
    linear = [row for row in found if row["verdicts"][0]["judge"] != CNN]
    voted = [each for row in linear for each in row["verdicts"] if each["voted"]]
    if voted:
        said = f"{voted[0]['judge']}, which **voted**: {_summary(each['accuracy'] for each in voted)}"
        return [name, str(len(linear)), "0", said, "", "", ""]
    bought = next((str(row["bought"]) for row in found if "bought" in row), "0")
    distinct = [row["distinct"] for row in linear if "distinct" in row]
    pixels = list(_accuracies(found, CNN))
    return [
        name,
        str(len(linear)),
        bought,
        *(_summary(_accuracies(linear, head)) for head in HEADS),
        f"{_summary(pixels)} ({len(pixels)})" if pixels else "",
        f"{np.mean(distinct):.0%}" if distinct else "",
    ]


def _of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["contender"] == name]


def _accuracies(rows: Iterable[Row], judge: str) -> Iterator[float]:
    return (each["accuracy"] for row in rows for each in row["verdicts"] if each["judge"] == judge)


def _summary(shares: Iterable[float]) -> str:
    found = 100 * np.array(list(shares))
    return summary(found) if len(found) else "voted"


def _pairs(rows: Sequence[Row]) -> str:
    """Return what appearance, more images and rounds add, within a set and a seed."""
    lines = [
        [f"{first} − {second}", *(cell for cell in _pair(rows, first, second, CASES))]
        for first, second in PAIRS
    ]
    lines = [line for line in lines if line[-1]]
    if not lines:
        return ""
    heads = ["difference, points", *(case.about.title for case in CASES), "all"]
    about = "Mean of the two linear heads; in brackets the pairs of the same seed."
    return f"## In pairs\n\n{about}\n\n{_table(heads, lines)}"


def _write_tuned(rows: Sequence[Row]) -> str:
    """Other schedules of three rounds, on sets that may be tuned on."""
    tuned = [each.name for each in CONTENDERS if each.tuning and _of(rows, each.name)]
    cases = (
        [case for case in CASES if any(row["world"] == case.world for row in _of(rows, tuned[0]))]
        if tuned
        else []
    )
    if not cases:
        return ""
    lines = [[f"{name[0].upper()}{name[1:]}", *_pair(rows, name, THREE_ROUNDS, cases)] for name in tuned]
    heads = ["less the schedule above, points", *(case.about.title for case in cases), "all"]
    return f"## Other schedules of three rounds\n\n{table(heads, lines)}"


def _pair(rows: Sequence[Row], first: str, second: str, cases: Sequence[Case]) -> Iterator[str]:
    """The difference in each set, and in all of them."""
    found = [_differences(rows, first, second, case) for case in cases]
    for values in (*found, [each for of_set in found for each in of_set]):
        yield f"{summary(np.array(values))} ({len(values)})" if values else ""


def _differences(rows: Sequence[Row], first: str, second: str, case: Case) -> list[float]:
    means = {
        (row["contender"], row["seed"]): 100 * float(np.mean([each["accuracy"] for each in row["verdicts"]]))
        for row in rows
        if row["world"] == case.world
        and row["contender"] in (first, second)
        and row["verdicts"][0]["judge"] != CNN
    }
    seeds = sorted(seed for name, seed in means if name == first and (second, seed) in means)
    return [means[first, seed] - means[second, seed] for seed in seeds]
