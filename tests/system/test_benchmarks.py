"""The benchmarks run, and their yardsticks are bounded as their noise assumes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from benchmarks.oracles.stops import share
from benchmarks.prototypes import draw_top
from benchmarks.selectors.yardsticks import RADIUS, sum_clipped
from benchmarks.usefulness.second import cross_check
from benchmarks.usefulness.second_rules import choose_bounds
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.frame import STEP, Frame
from pcevolve.public.privacy import Event
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.selectors.means import Means, means_of
from pcevolve.public.selectors.selection import PrivateEmbeddings, SelectionInput
from support.examples import at_night

ROOT = Path(__file__).parents[2]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.fixture(scope="module")
def selectors(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("selectors")
    trials, results = str(out / "trials.jsonl"), str(out / "results")
    options = ["--grid", "small", "--processes", "1", "--trials", trials, "--out", results]
    done = run("-m", "benchmarks.selectors", *options)
    assert done.returncode == 0, done.stderr
    return out, options


@at_night
def test_the_selector_benchmark_writes_its_table_its_figures_and_its_picture(selectors):
    results = selectors[0] / "results"
    found = json.loads((results / "selectors.json").read_text())
    assert [each["method"] for each in found] == ["t2i", "dp-means"]
    for each in found:
        voted = {verdict["judge"]: verdict["voted"] for verdict in each["verdicts"]}
        assert voted["bundled"]
        assert not voted["cnn"]
        assert all(0 <= verdict["accuracy"] <= 1 for verdict in each["verdicts"])
    assert [each["images"] for each in found] == [6, 24]
    assert (results / "selectors.png").read_bytes().startswith(b"\x89PNG")
    assert "| dp-means | 1 |" in (results / "selectors.md").read_text()


def test_an_interval_of_a_share_is_as_wide_as_draws_say():
    """Against the spread of the estimate itself, over many samples of ten draws whose parts and wholes go together."""
    random = np.random.default_rng(0)
    wholes = random.normal(40, 6, (4000, 10))
    parts = 0.6 * wholes + random.normal(0, 5, wholes.shape)
    shares = np.array([share(*each) for each in zip(parts, wholes, strict=True)])
    covered = np.abs(shares[:, 0] - 0.6) <= shares[:, 1]
    assert 0.94 < covered.mean() < 0.96


@pytest.mark.statistical
def test_several_prototypes_are_drawn_as_often_as_the_exponential_mechanism_draws_their_set():
    """Against the mechanism itself: a set's score is the least of its members', and epsilon / 2 stands before it."""
    scores, epsilon, draws = np.array([0.3, 2.0, 1.1, 0.0, 1.6]), 2.0, 4000
    sets = list(itertools.combinations(range(5), 2))
    weights = np.array([np.exp(epsilon / 2 * scores[list(each)].min()) for each in sets])
    random = np.random.default_rng(3)
    drawn = Counter(tuple(sorted(draw_top(scores, 2, epsilon, random).tolist())) for _ in range(draws))
    found = np.array([drawn[each] for each in sets])
    assert stats.chisquare(found, draws * weights / weights.sum()).pvalue > 0.001
    other = np.array([np.exp(epsilon * scores[list(each)].min()) for each in sets])
    assert stats.chisquare(found, draws * other / other.sum()).pvalue < 0.001, "not with all of epsilon"


def test_the_published_words_about_images_are_those_of_today_s_bounds():
    published = json.loads((ROOT / "docs" / "results" / "second.json").read_text())
    figures = [{name: row[name] for name in Assessment.model_fields} for row in published]
    assert [row["word"] for row in published] == [Assessment(**each).word("image") for each in figures]


def look_twice(opposite: bool) -> tuple[float, float]:
    """Check classes that differ by either encoder, from candidates that do so, or by the second the other way."""
    random, signs = np.random.default_rng(0), np.repeat([-1.0, 1.0], 40)
    frame = Frame(np.zeros(64), np.eye(64, 32), 4.0, np.ones(32), STEP)
    private, pool = random.normal(size=(80, 64)) * 0.1, random.normal(size=(80, 64)) * 0.1
    private[:, 0], private[:, 16] = signs, signs
    pool[:, 0], pool[:, 16] = signs, -signs if opposite else signs
    events = (Event("gaussian", "1/8"), Event("gaussian", "1/8"))
    scene = SelectionInput(("a", "b"), (pool, pool), 20, 40, 1, 0, 7, "replace-one", frame=frame)
    records = PrivateEmbeddings(private, (signs > 0).astype(int), np.arange(80))
    measured = Means().measure(records, scene, events, SeededNoise(1))
    return cross_check(measured, scene, means_of(measured))


def test_a_second_look_agrees_where_both_encoders_see_the_same_difference():
    assert min(look_twice(opposite=False)) > 0.9
    assert max(look_twice(opposite=True)) < -0.9


TOLD = {"distance": 1.0, "nearest": 0.5, "words_agree": 0.69, "classes_apart": 5.0}


def seen(*worth: float, **changes: float) -> list[dict[str, object]]:
    """Datasets whose agreement, and whose second look, is what they are worth."""
    return [
        {**TOLD, "agreement": each, "checks": [each, each], "closed": {"squeezenet": each}, **changes}
        for each in worth
    ]


@pytest.mark.parametrize(("rule", "strictest"), [("agreement", 0.96), ("second look", 0.96)])
def test_a_bound_is_one_at_which_the_word_is_right_and_said_of_all_that_is_worth_it(rule, strictest):
    (bound,) = choose_bounds(seen(0.3, 0.45, 0.6, 0.7), rule, "squeezenet")
    assert 0.45 < bound <= 0.6
    assert choose_bounds(seen(0.3, 0.45), rule, "squeezenet") == (strictest,)
    for changes in ({"nearest": 0.76}, {"words_agree": 0.7}):
        assert choose_bounds(seen(0.6, 0.7, **changes), rule, "squeezenet") == (strictest,)


def test_a_second_look_says_nothing_where_noise_hides_the_classes_and_agreement_does():
    hidden = seen(0.6, 0.7, classes_apart=4.9)
    assert choose_bounds(hidden, "second look", "squeezenet") == (0.96,)
    assert choose_bounds(hidden, "agreement", "squeezenet")[0] <= 0.6


def test_of_two_looks_one_is_enough():
    one, other = seen(0.9)[0], seen(0.9)[0]
    alike, least = choose_bounds(
        [{**one, "agreement": 0.1}, {**other, "checks": [0.1, 0.1]}, *seen(0.4)],
        "agreement or second look",
        "squeezenet",
    )
    assert 0.4 < alike <= 0.9
    assert 0.4 < least <= 0.9


def dataset(pixels: list[np.ndarray], targets: list[int]) -> PrivateDataset:
    pictures = tuple(Image.fromarray(each.astype(np.uint8)).convert("RGB") for each in pixels)
    units = tuple(b"%d" % place for place in range(len(pictures)))
    return PrivateDataset(("cut", "good"), pictures, np.array(targets), units)


def extremes() -> list[np.ndarray]:
    """Images whose spectra lie as far from the centre as any: flat black and white, and a checkerboard."""
    board = 255 * (np.indices((64, 64)).sum(axis=0) % 2)
    return [
        np.zeros((64, 64)),
        np.full((64, 64), 255),
        board,
        np.random.default_rng(1).integers(0, 256, (64, 64)),
    ]


def test_no_replaced_image_moves_the_sums_by_more_than_two_radii():
    moved = []
    for first in extremes():
        for second in extremes():
            for target in (0, 1):
                one = sum_clipped(dataset([first, extremes()[3]], [0, 1]))
                other = sum_clipped(dataset([second, extremes()[3]], [target, 1]))
                moved.append(np.linalg.norm(one - other))
    assert RADIUS < max(moved) <= 2 * RADIUS
