"""The rules that say of a dataset whether it is worth it, their bounds, and the tables of how often they are right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, table
from benchmarks.usefulness.cases import WORDS, WORTH
from benchmarks.usefulness.runs import ALIEN, HEAD, JUDGES, SHOTS, SOURCES
from pcevolve.public.encoders import BUNDLED, JOINED
from pcevolve.public.publish.usefulness import BOUNDS

VOTERS = (JOINED, BUNDLED)
"""That of which each half checks the other, and the default."""


OWN = "the product's"
RULES: dict[str, Callable[[Row, float], bool]] = {
    OWN: lambda row, bound: row["word"] == "useful",
    "second look": lambda row, bound: _may_be_useful(row) and float(np.mean(row["checks"])) >= bound,
    "second look at what was drawn to the candidates": lambda row, bound: (
        _may_be_useful(row) and float(np.mean(row["drawn_checks"])) >= bound
    ),
}


def _may_be_useful(row: Row) -> bool:
    """True unless images lie far off, noise hides the classes, or words alone draw them."""
    words, apart = row["words_agree"], row["classes_apart"]
    free = words is not None and words >= BOUNDS.matched
    return row["distance"] <= BOUNDS.far and apart >= BOUNDS.distinct and not free


WANTED = 0.95
CHOSE = 4
"""Seeds whose datasets chose the bounds of *not useful*; later ones only try them."""


def list_bounds(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Of pairs of bounds of *not useful*, how many strange datasets are found and how many worthy ones are wronged.

    The nearest quarter lies farther off than the first bound, and than the second one's share of the mean distance.
    """
    for strange, uniform in itertools.product((0.7, 0.75, 0.8), (0.0, 0.7, 0.75, 0.8)):
        cells = []
        for later in (False, True):
            here = [row for row in rows if (row["seed"] >= CHOSE) == later]
            alien = [_is_strange(row, strange, uniform) for row in here if row["source"] in ALIEN]
            worth = [
                _is_strange(row, strange, uniform)
                for row in here
                if row["source"] not in ALIEN and row["closed"][HEAD] >= WORTH
            ]
            cells += [_share_of(sum(each), len(each)) for each in (alien, worth)]
        yield [f"{strange:g}, {uniform:g}", *cells]


def _is_strange(row: Row, strange: float, uniform: float) -> bool:
    return bool(row["nearest"] > strange and row["nearest"] > uniform * row["distance"])


def choose_bound(rows: Sequence[Row], rule: str, name: str) -> float:
    """The least bound at which the word is right in 95 of 100 by a judge."""
    for bound in np.arange(0.0, 1.0, 0.02):
        said = [row for row in rows if RULES[rule](row, bound)]
        if said and np.mean([row["closed"][name] >= WORTH for row in said]) >= WANTED:
            return float(bound)
    return 1.0


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """Of each rule, how often it is right and of how much of what is worth it it is said, by shots and judge."""
    lines = []
    for voter, rule, shots in itertools.product(VOTERS, RULES, SHOTS):
        here = [row for row in rows if (row["voter"], row["shots"]) == (voter, shots)]
        if not here or (rule != OWN and voter != JOINED):
            continue
        said, bounds = [], []
        for name in dict.fromkeys(row["set"] for row in here):
            bound = choose_bound([row for row in here if row["set"] != name], rule, HEAD)
            bounds.append(bound)
            said += [row for row in here if row["set"] == name and RULES[rule](row, bound)]
        chosen = "" if rule == OWN else f"{min(bounds):.2f} to {max(bounds):.2f}"
        lines.append([voter, rule, str(shots), str(len(here)), chosen, *_rates(here, said)])
    heads = ["selected by", "rule", "shots", "datasets", "bounds"]
    heads += [
        f"{what}, {each}"
        for each in JUDGES
        for what in ("right, of those called useful", "called so, of those worth it")
    ]
    yield table(heads, lines)
    for voter in VOTERS:
        here = [row for row in rows if row["voter"] == voter]
        yield table(
            [
                f"bounds of not useful, {voter}",
                *(
                    f"{what}{where}"
                    for where in ("", ", later seeds")
                    for what in ("nothing of the domain, found", "worth it, called so")
                ),
            ],
            list_bounds(here),
        )
        yield table(
            [f"provider, {voter}", "datasets", *(f"{word}: worth it" for word in WORDS)], list_words(here)
        )


def _rates(rows: Sequence[Row], said: Sequence[Row]) -> Iterator[str]:
    """Of each judge, how often what was said is right, and of how much of what is worth it it was said."""
    for each in JUDGES:
        asked = [row["closed"][each] >= WORTH for row in rows if each in row["closed"]]
        right = [row["closed"][each] >= WORTH for row in said if each in row["closed"]]
        yield _share_of(sum(right), len(right))
        yield _share_of(sum(right), sum(asked))


def list_words(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Of each kind of provider, how many datasets got which word, and how many of these are worth it, by the head."""
    for source in SOURCES:
        here = [row for row in rows if row["source"] == source]
        cells = []
        for word in WORDS:
            said = [row for row in here if row["word"] == word]
            cells.append(f"{len(said)}: {sum(row['closed'][HEAD] >= WORTH for row in said)}")
        yield [source, str(len(here)), *cells]


def _share_of(some: int, of: int) -> str:
    """A share with its 95 % interval, by Wilson."""
    if not of:
        return "–"
    share, z = some / of, 1.96
    middle, half = share + z**2 / (2 * of), z * (share * (1 - share) / of + z**2 / (4 * of**2)) ** 0.5
    low, high = ((middle + sign * half) / (1 + z**2 / of) for sign in (-1, 1))
    return f"{some} of {of}: {100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
