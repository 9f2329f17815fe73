"""The baseline that filters by private images without noise."""

from __future__ import annotations

import numpy as np

from pcevolve.bench.resembling import POOL, kept
from pcevolve.run.labelled import Labelled


class Places:
    """An encoder of images that are places already."""

    name, dimension, frame = "places", 1, None

    def embed(self, shown):
        return np.array([[np.nan] if each is None else [float(each)] for each in shown])


def labelled(*places, targets):
    return Labelled(list(places), np.array(targets))


SHOTS = labelled(0, 10, targets=[0, 1])


def test_candidates_that_look_like_another_class_are_dropped():
    made = labelled(9, 1, 8, 2, 10, 9, 12, 11, 1, 0, 8, 7, targets=[0] * 6 + [1] * 6)
    found = kept(made, SHOTS, Places())
    assert list(found.images) == [1, 2, 12, 11]
    assert found.targets.tolist() == [0, 0, 1, 1]


def test_where_too_few_are_alike_the_first_of_the_others_fill_up():
    made = labelled(9, 8, 1, 9, 9, 9, *[10] * 6, targets=[0] * 6 + [1] * 6)
    assert list(kept(made, SHOTS, Places()).images) == [9, 1, 10, 10]


def test_as_many_of_each_class_are_kept_as_a_run_without_the_filter_has():
    targets = np.repeat([0, 1], [3 * POOL, 5 * POOL])
    made = Labelled(list(np.random.default_rng(0).uniform(0, 10, len(targets))), targets)
    assert np.bincount(kept(made, SHOTS, Places()).targets).tolist() == [3, 5]


def test_private_images_that_cannot_be_read_are_near_nothing():
    shots = labelled(None, 0, 10, targets=[1, 0, 1])
    assert list(kept(labelled(9, 1, 2, targets=[0, 0, 0]), shots, Places()).images) == [1]
