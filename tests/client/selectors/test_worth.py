"""What a budget of ten buys from each selector, in a feature space made up for it; with the methods' own calibrations.

The measure is the share of the first round's prototypes that are of the tenth of the candidates truly nearest to their
class; luck is one tenth. The figures are of this space alone: real images are the benchmark's business.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.privacy import Budget
from pcevolve.selectors import PrivateEmbeddings, Scene, method
from pcevolve.selectors.rounds import Scope

CLASSES, CANDIDATES, WIDTH, SEEDS = 2, 100, 32, 40


def share_of_the_best_tenth(name: str, shots: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    truth = random.normal(size=(CLASSES, WIDTH))
    targets = np.repeat(np.arange(CLASSES), shots)
    records = PrivateEmbeddings(
        truth[targets] + random.normal(size=(len(targets), WIDTH)), targets, np.arange(len(targets))
    )
    # Candidates tend only a little towards their class, and differ more along some axes than along others.
    common, spread = truth.mean(axis=0), np.geomspace(3, 0.45, WIDTH)
    pools = [
        common + 0.3 * (centre - common) + random.normal(size=(CANDIDATES, WIDTH)) * spread
        for centre in truth
    ]
    scene, events = first_round(name, shots, pools, seed)
    selector = method(name).make_selector()
    picked = selector.pick(selector.measure(records, scene, events, SeededNoise(seed)), scene)
    best = [
        np.argsort(np.linalg.norm(pool - centre, axis=1))[: CANDIDATES // 10]
        for pool, centre in zip(pools, truth, strict=True)
    ]
    return float(np.mean([np.isin(chosen, good).mean() for chosen, good in zip(picked, best, strict=True)]))


def first_round(name: str, shots: int, pools: list[np.ndarray], seed: int):
    used, budget = method(name), Budget(Fraction(10), method(name).delta)
    scope = Scope("replace-one", iterations=1, classes=CLASSES, shots=shots, candidates=CANDIDATES)
    rounds = max(used.rounds(budget, scope), 1)
    scope = Scope("replace-one", iterations=rounds, classes=CLASSES, shots=shots, candidates=CANDIDATES)
    scene = Scene(
        labels=("one", "other"),
        pools=tuple(pools),
        wanted=used.prototypes_for(CANDIDATES),
        shots=shots,
        iteration=1,
        iterations=rounds,
        seed=seed,
        relation="replace-one",
    )
    return scene, used.accesses(budget, scope, appearance="as-is")[1]


@pytest.mark.parametrize(
    ("name", "shots", "least", "most"),
    [
        ("pcevolve", 10, 0.0, 0.25),
        ("pe", 10, 0.15, 0.5),
        ("pe", 30, 0.25, 0.7),
        ("pe-em", 30, 0.4, 0.9),
        ("dp-means", 10, 0.2, 0.8),  # 0.28: it aims beyond the mean, for the right class and not for nearness
        ("jvem", 10, 0.8, 1.0),
    ],
)
def test_what_a_budget_of_ten_buys(name: str, shots: int, least: float, most: float):
    shares = [share_of_the_best_tenth(name, shots, seed) for seed in range(SEEDS)]
    assert least <= np.mean(shares) <= most
