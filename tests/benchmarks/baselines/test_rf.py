"""Real filtering: what lies near another class's private images is rejected by a distance, and more is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.public.release import Candidate
from pcevolve.public.selectors import PrivateEmbeddings
from pcevolve_benchmarks.baselines.rf import distance_to_others, find_limit, keep_far


def private_at(*places: tuple[float, int]) -> PrivateEmbeddings:
    points = np.array([[place, 0.0] for place, _ in places])
    return PrivateEmbeddings(points, np.array([target for _, target in places]), np.arange(len(places)))


def test_the_limit_is_the_median_distance_of_private_images_to_another_class():
    assert find_limit(private_at((0, 0), (1, 0), (4, 1))) == 3.0  # 4, 3 and 3
    assert find_limit(private_at((0, 0), (1, 0))) == 0.0, "there is no other class"


def test_a_candidate_is_as_far_as_the_nearest_private_image_of_another_class():
    private = private_at((0, 0), (10, 1), (4, 1))
    points = np.array([[3.0, 0.0], [np.nan, 0.0], [0.0, 3.0]])
    assert distance_to_others(points, private, 0).tolist() == [1.0, -1.0, 5.0]
    assert distance_to_others(points[:1], private, 1).tolist() == [3.0]


@pytest.mark.parametrize(("limit", "kept"), [(0.0, "ab"), (2.0, "bd"), (5.0, "")])
def test_whatever_is_farther_than_the_limit_is_kept_in_order_until_there_is_enough(limit: float, kept: str):
    made = [Candidate(name, "cut", 0, None, name * 64) for name in "abcd"]
    far = {"a": 1.0, "b": 3.0, "c": -1.0, "d": 4.0}
    assert "".join(each.id for each in keep_far(made, far, limit, 2)) == kept
