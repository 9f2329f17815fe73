"""Limits of selection, against enumeration, simulation and the official code's formula, and their page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcevolve.public.selectors.contrastive import calibrate
from pcevolve_benchmarks.limits import chances
from pcevolve_benchmarks.limits.chances import PAPER
from pcevolve_benchmarks.limits.page import page, picture

IDEAL = np.array([1.0] * 10 + [0.0] * 90)


def test_the_best_case_of_the_paper_is_11_percent_where_luck_is_10():
    assert chances.of_method("pcevolve", 10, PAPER) == pytest.approx(0.111826, abs=1e-6)
    weights = [np.exp(10 / (20 * 2) * u / 2) for u in IDEAL]
    assert chances.of_method("pcevolve", 10, PAPER) == pytest.approx(sum(weights[:10]) / sum(weights))


def test_draws_by_gumbel_noise_have_the_enumerated_frequency():
    random = np.random.default_rng(1)
    draws = np.concatenate(
        [(0.25 / 2 * IDEAL + random.gumbel(size=(20_000, 100))).argmax(axis=1) for _ in range(20)]
    )
    assert np.mean(draws < 10) == pytest.approx(0.1118, abs=4 * np.sqrt(0.1 * 0.9 / len(draws)))


def test_no_utility_in_its_range_does_better_than_the_ideal_one():
    random = np.random.default_rng(2)
    others = [chances.draw_probabilities(random.random(100), 0.25)[:10].sum() for _ in range(1000)]
    assert max(others) < chances.draw_probabilities(IDEAL, 0.25)[:10].sum()


def test_the_means_of_two_runs_differ_by_no_more_than_their_draws_do():
    """The total variation distance of all draws, by enumeration of two draws of three candidates."""
    pools = np.array([[1.0, 0.3, 0.0]])
    once = chances.draw_probabilities(pools[0], 4.0 / 2)
    joint = np.outer(once, once)
    variation = np.abs(joint - 1 / 9).sum() / 2
    bound = chances.most_difference(pools, replace(PAPER, iterations=1), 4.0)
    assert variation < bound < 1.3 * variation


def test_the_papers_noise_on_a_count_is_as_its_definition_says():
    sigma = chances.compute_published_deviation(10, PAPER)
    assert sigma == pytest.approx(np.sqrt(2 * np.log(1.25 / 1e-5)) * 20 / 10)
    noise = np.random.default_rng(4).normal(0, sigma, (20_000, 100))
    votes = np.maximum(noise + IDEAL, 0)
    share = votes[:, :10].mean() * 10 / votes.mean() / 100
    assert chances.of_published_votes(10, PAPER) == pytest.approx(share, abs=1e-3)


def official(distances: np.ndarray, own: int, epsilon: float) -> np.ndarray:
    """Probabilities as the official code computes them, written down anew from its description.

    Scores are negated distances, minus infinity where another centre is nearer; they are normalised to [-1, 0] over
    those that pass, exponentiated after division by the temperature 1/10, and drawn with exp(ε u / 2).
    """
    nearest = distances[:, own] <= distances.min(axis=1)
    scores = np.where(nearest, -distances[:, own], -np.inf)
    passed = scores[nearest]
    if not len(passed):
        return np.full(len(scores), 1 / len(scores))
    low, high = passed.min(), passed.max()
    with np.errstate(divide="ignore"):
        utility = np.ones(len(scores)) if low == high else np.exp(-(high - scores) / (high - low) * 10)
    weights = np.exp(epsilon * utility / 2)
    return weights / weights.sum()


def test_our_probabilities_are_the_official_code_s():
    random = np.random.default_rng(6)
    for classes in (2, 3, 5):
        distances = random.gamma(9.0, size=(100, classes))
        ours = chances.draw_probabilities(calibrate(distances, 0, 10.0), 0.25)
        assert ours == pytest.approx(official(distances, 0, 0.25), abs=1e-12)


def test_the_official_code_draws_blindly_where_one_candidate_passes():
    distances = np.array([[1.0, 2.0], [3.0, 2.0], [4.0, 1.0]])
    assert official(distances, 0, 0.25) == pytest.approx(np.full(3, 1 / 3))
    assert calibrate(distances, 0, 10.0) == pytest.approx([1.0, 0.0, 0.0])


RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads((RESULTS / "pcevolve.json").read_text())


def test_every_figure_of_the_page_is_of_its_json(kept: dict[str, Any]):
    assert page(kept) == (RESULTS / "pcevolve.md").read_text()
    assert picture(kept) == (RESULTS / "pcevolve.svg").read_bytes()
