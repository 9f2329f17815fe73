"""The published utility, on cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pcevolve.errors import DataError
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.distances import distances
from pcevolve.public.methods import TAU
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import PrivateEmbeddings
from pcevolve.public.selectors.contrastive import Contrastive, calibrate
from support.neighbours import Observer, World, records_of

CENTRES = np.array([[0.0], [10.0]])
CANDIDATES = distances(
    np.array([[1.0], [2.0], [3.0], [7.0]]), CENTRES
)  # the last is nearer to the other class


def test_equation_3_over_the_candidates_that_pass_equation_1():
    assert calibrate(CANDIDATES, 0, TAU) == pytest.approx([1.0, math.exp(-5), math.exp(-10), 0.0])


def test_tau_says_how_much_worse_the_farther_candidates_are():
    assert calibrate(CANDIDATES, 0, 2.0) == pytest.approx([1.0, math.exp(-1), math.exp(-2), 0.0])
    assert calibrate(CANDIDATES, 0, 0.0).tolist() == [1.0, 1.0, 1.0, 0.0]


@given(
    candidates=hnp.arrays(np.float64, (7, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
    centres=hnp.arrays(np.float64, (4, 3), elements=st.floats(-100, 100)),
    own=st.integers(0, 3),
)
def test_utility_is_in_the_unit_interval_for_any_candidates_and_any_data(candidates, centres, own):
    scores = calibrate(distances(candidates, centres), own, TAU)
    assert np.all((scores >= 0) & (scores <= 1))
    assert np.all(scores[~np.isfinite(candidates).all(axis=1)] == 0)


WORLD = World(pools=((1.0, 2.0, 3.0, 7.0), (9.0, 2.0)), places=())
DATA = records_of((((-1.0, 0),), ((1.0, 0),), ((10.0, 1),)))  # class centres 0 and 10


def test_the_centres_are_those_of_the_private_records():
    (_, first), (_, second) = Contrastive().scores(DATA, WORLD.scene("replace-one"))
    assert first == pytest.approx([1.0, math.exp(-5), math.exp(-10), 0.0])
    assert second.tolist() == [1.0, 0.0]


def test_a_unit_of_many_images_counts_once_in_the_centre():
    """Candidates on both sides of it, for the scores of those on one side stay as they are when it moves."""
    around = World(pools=((-1.0, 2.0, 4.0), (9.0, 2.0)), places=()).scene("replace-one")
    crowd = records_of((((-1.0, 0),) * 9, ((1.0, 0),), ((10.0, 1),)))
    one, other = (Contrastive().scores(each, around)[0][1] for each in (crowd, DATA))
    assert one == pytest.approx(other, abs=1e-7)


def test_a_class_without_private_images_is_an_error_and_nothing_is_drawn():
    noise, event = Observer(), Event("exponential", "1", 2)
    half = PrivateEmbeddings(DATA.embeddings[:2], DATA.targets[:2], DATA.units[:2])
    with pytest.raises(DataError, match=r"class 'class 1' has no private images.*nothing was drawn"):
        Contrastive().measure(half, WORLD.scene("replace-one"), (event,), noise)
    assert noise.asked == []


def test_with_hardly_any_noise_the_best_is_chosen_and_then_what_is_like_it():
    scene, event = WORLD.scene("replace-one", wanted=3), Event("exponential", "1000", 2)
    picked = Contrastive().pick(Contrastive().measure(DATA, scene, (event,), SeededNoise(1)), scene)
    assert [each.tolist() for each in picked] == [[0, 1, 2], [0, 1, 0]]
