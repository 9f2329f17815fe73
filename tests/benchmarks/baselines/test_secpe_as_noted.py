"""SecPE as noted: what records do to a release, that the noise is enough for listed secrets, and what is picked."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.selectors.selection import PrivateEmbeddings, SelectionInput
from pcevolve_benchmarks.baselines.secpe_as_noted import SampledCells
from pcevolve_benchmarks.baselines.secret_noise import Exposed, Sampled, smallest_sigma
from pcevolve_benchmarks.baselines.session import BaselineAccess
from support.examples import is_nightly

PAID = (BaselineAccess("secret-noise"),)
PLACES = (-3.0, -0.6, 0.4, 1.1, 2.0, 9.0)
POOLS = ((-1.5, 0.4, 2.5), (-1.0, 0.5, math.nan, 2.0))
PRIOR, BOUND = 1e-2, 1e-1


@dataclass
class Watched:
    """Noise that adds none, notes what it is asked to hide, and samples whom it is told to.

    Attributes:
        drawn: What it says where somebody may be sampled: 0 for yes.
    """

    drawn: int = 0
    source: str = "INSECURE-seeded"
    asked: list[tuple[np.ndarray, float]] = field(default_factory=list)
    sampled: list[str] = field(default_factory=list)

    def uniform(self, key: str, count: int) -> int:
        self.sampled.append(key)
        return self.drawn

    def gaussian(self, key: str, values: np.ndarray, sigma: float) -> np.ndarray:
        self.asked.append((values.ravel().copy(), sigma))
        return values


def scene(*pools: tuple[float, ...], **changes: object) -> SelectionInput:
    rows = tuple(np.array(pool, dtype=float)[:, None] for pool in pools or POOLS)
    values = {
        "labels": tuple(f"class {place}" for place in range(len(rows))), "pools": rows, "wanted": 2, "shots": 3,
        "iteration": 1, "iterations": 2, "seed": 5, "relation": "replace-one",
    }  # fmt: skip
    return SelectionInput(**{**values, **changes})


def records(*held: tuple[float, int, float], units: tuple[int, ...] | None = None) -> PrivateEmbeddings:
    """Texts by place, class and rate."""
    places, targets, rates = (np.array(each) for each in zip(*held, strict=True))
    owners = np.arange(len(held)) if units is None else np.array(units)
    return PrivateEmbeddings(places[:, None], targets.astype(int), owners, caps=rates)


def find_hidden(private: PrivateEmbeddings, asked: SelectionInput, drawn: int = 0) -> np.ndarray:
    noise = Watched(drawn)
    SampledCells(4.0).measure(private, asked, PAID, noise)
    ((values, sigma),) = noise.asked
    assert sigma >= 4.0
    return values


OTHERS = ((0.3, 0, 1.0), (-2.0, 1, 1.0), (1.9, 0, 0.2))


@pytest.mark.parametrize("cells", [None, 2])
def test_whatever_the_holders_hold_each_moves_what_is_hidden_by_the_joint_norm_at_most(cells: int | None):
    """Exact: every place and class of both holders of a secret, against a release without them."""
    asked, longest = scene(cells=cells), 0.0
    without = find_hidden(records(*OTHERS, (0.0, 0, 0.0), (0.0, 0, 0.0)), asked)
    spots = list(itertools.product(PLACES, range(len(POOLS))))
    for one, two in itertools.combinations_with_replacement(spots, 2):
        with_it = find_hidden(records(*OTHERS, (*one, 0.5), (*two, 0.5)), asked)
        longest = max(longest, float(np.linalg.norm(with_it - without)))
    assert 0.99 * 2 * math.sqrt(2) <= longest <= 2 * math.sqrt(2)
    assert longest > 2 * math.sqrt(2) * 0.7  # a norm that is understated by 30 % would be noticed
    assert longest > 2  # and so would the published one


def test_whoever_is_not_sampled_this_time_is_not_there_and_who_holds_no_secret_always_is():
    asked, noise = scene(), Watched(2**30 - 1)
    SampledCells(4.0).measure(records(*OTHERS), asked, PAID, noise)
    assert noise.sampled == ["0001/sampled/2"]  # those with a rate of 1 or 0 are not drawn
    assert noise.asked[0][0].reshape(-1, 2)[:, 0].sum() == 2.0
    assert find_hidden(records(*OTHERS), asked).reshape(-1, 2)[:, 0].sum() == 3.0


@given(st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_somebody_is_sampled_as_often_as_his_rate_says_and_never_more(rate: float, seed: int):
    held = records((0.4, 0, rate))
    threshold = math.floor(rate * 2**30)
    noise = Watched(seed % 2**30)
    SampledCells(4.0).measure(held, scene(), PAID, noise)
    there = noise.asked[0][0].reshape(-1, 2)[:, 0].sum() == 1.0
    assert there == (threshold == 2**30 or (threshold > 0 and seed % 2**30 < threshold))


def attack(weaker: float, draws: int) -> tuple[float, float]:
    """How often the best attack on two rounds of the real release is right about a secret of two holders.

    It knows all other texts and where the holders lie if they hold its guess, and says yes in a share PRIOR of the
    cases in which they are left out. The numbers that it looks at are those that lie in the direction of the shift,
    in which alone the release differs.

    Returns:
        The rate, and its standard error.
    """
    exposed = Exposed((0.5, 0.5), PRIOR, BOUND)
    sigma = smallest_sigma([exposed], 2)
    asked = scene(POOLS[0])
    without = find_hidden(records((9.0, 0, 0.0)), asked)
    step = find_hidden(records((9.0, 0, 0.5)), asked) - without
    norm = float(np.linalg.norm(step))
    told = Sampled((0.5, 0.5), 2, weaker * sigma / norm)
    random = np.random.default_rng(3)

    def score(has_secret: bool) -> np.ndarray:
        noise = random.normal(0, told.sigma, (draws, 2))
        return told.loss(noise + random.binomial(2, 0.5, noise.shape) * has_secret).sum(axis=1)

    threshold = np.quantile(score(has_secret=False), 1 - PRIOR)
    rate = float(np.mean(score(has_secret=True) > threshold))
    return rate, math.sqrt(rate * (1 - rate) / draws + (BOUND / PRIOR) ** 2 * PRIOR / draws)


DRAWS = 2_000_000 if is_nightly() else 400_000


@pytest.mark.statistical
def test_the_best_attack_reaches_the_bound_and_no_more():
    rate, error = attack(1.0, DRAWS)
    assert rate < BOUND + 4 * error
    assert rate > 0.9 * BOUND


@pytest.mark.statistical
@pytest.mark.parametrize("weaker", [0.7, 1 / math.sqrt(2)], ids=["30 percent less", "as published"])
def test_too_little_noise_is_refuted(weaker: float):
    rate, error = attack(weaker, DRAWS)
    assert rate > BOUND + 5 * error
