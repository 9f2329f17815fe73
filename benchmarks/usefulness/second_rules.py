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


OWN, AGREEMENT, LOOK, EITHER = "the product's", "agreement", "second look", "agreement or second look"
ALIKE = np.round(np.arange(0.5, 0.97, 0.02), 2)
CHECKED = np.round(np.arange(0.0, 0.97, 0.04), 2)
RULES: dict[str, tuple[Sequence[tuple[float, ...]], Callable[..., bool]]] = {
    OWN: ([()], lambda row: row["word"] == "useful"),
    AGREEMENT: ([*itertools.product(ALIKE)], lambda row, alike: _may_be(row) and _agrees(row) >= alike),
    LOOK: ([*itertools.product(CHECKED)], lambda row, least: _may_be(row) and _second_look(row) >= least),
    EITHER: (
        [*itertools.product(ALIKE, CHECKED)],
        lambda row, alike, least: _may_be(row) and (_agrees(row) >= alike or _second_look(row) >= least),
    ),
}
"""The bounds to choose from, and whether a dataset is called useful by some of them."""


def _may_be(row: Row) -> bool:
    """True unless images are of another domain, or words alone draw them."""
    return not is_free(row) and not _is_strange(row, BOUNDS.strange, BOUNDS.uniform)


def is_free(row: Row) -> bool:
    """True if images by words alone match the released classes, so that paying adds nothing."""
    return row["words_agree"] is not None and row["words_agree"] >= BOUNDS.matched


def _agrees(row: Row) -> float:
    return float(row["agreement"])


def _second_look(row: Row) -> float:
    """Return how well each half agrees with the other's picks, on average; -1 where noise hides the classes."""
    return float(np.mean(row["checks"])) if row["classes_apart"] >= BOUNDS.distinct else -1.0


WANTED = 0.97
"""How often a word is to be right of the other sets; of the set itself it is right less often."""
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


def choose_bounds(rows: Sequence[Row], rule: str, name: str) -> tuple[float, ...]:
    """Bounds at which the word is right often enough by a judge, and said of the most of what is worth it.

    Of several that are equally good, those in the middle; the strictest if none is right often enough.
    """
    grid, is_useful = RULES[rule]
    said = np.array([[is_useful(row, *bounds) for row in rows] for bounds in grid])
    right = said & np.array([row["closed"][name] >= WORTH for row in rows])
    counts, rights = said.sum(axis=1), right.sum(axis=1)
    good = np.where((rights >= WANTED * counts) & (counts > 0), rights - 1e-3 * counts, -1)
    if good.max() < 0:
        return grid[-1]
    best = np.flatnonzero(good == good.max())
    return grid[best[len(best) // 2]]


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """Of each rule, how often it is right and of how much of what is worth it it is said, by shots and judge."""
    lines = []
    for voter, rule, shots in itertools.product(VOTERS, RULES, SHOTS):
        here = [row for row in rows if (row["voter"], row["shots"]) == (voter, shots)]
        if not here or (rule != OWN and voter != JOINED):
            continue
        said, chosen = [], []
        for name in dict.fromkeys(row["set"] for row in here):
            bounds = choose_bounds([row for row in here if row["set"] != name], rule, HEAD)
            chosen.append(bounds)
            said += [row for row in here if row["set"] == name and RULES[rule][1](row, *bounds)]
        spelled = "; ".join(f"{min(each):.2f} to {max(each):.2f}" for each in zip(*chosen, strict=True))
        lines.append([voter, rule, str(shots), str(len(here)), spelled, *_rates(here, said)])
    heads = ["selected by", "rule", "shots", "datasets", "bounds"]
    heads += [
        f"{what}, {each}"
        for each in JUDGES
        for what in (
            "right, of those called useful",
            "called so, of those worth it",
            "of those that words alone do not draw",
        )
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
    paid = [row for row in rows if not is_free(row)]
    for each in JUDGES:
        asked = [row["closed"][each] >= WORTH for row in rows if each in row["closed"]]
        right = [row["closed"][each] >= WORTH for row in said if each in row["closed"]]
        yield _share_of(sum(right), len(right))
        yield _share_of(sum(right), sum(asked))
        yield _share_of(
            sum(right), sum(row["closed"][each] >= WORTH for row in paid if each in row["closed"])
        )


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
