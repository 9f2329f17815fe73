"""Votes beside noise, counted again from what a run of public images leaves."""

from __future__ import annotations

import numpy as np

from pcevolve_benchmarks.tables.outcomes import distances, votes_cast


def test_every_shot_votes_for_the_nearest_candidate_of_its_own_class():
    shots = np.array([[0.0], [1.0], [9.0], [9.0]]), np.array([0, 0, 0, 1])
    candidates = np.array([[0.1], [8.0], [9.0], [5.0]]), np.array([0, 0, 1, 1])
    assert votes_cast(shots, candidates).tolist() == [2, 1, 1, 0]


def test_distances_are_to_the_nearest_of_the_same_class_both_ways():
    synthetic = np.array([[0.0], [4.0], [5.0]]), np.array([0, 0, 1])
    private = np.array([[1.0], [5.0]]), np.array([0, 1])
    found = dict(distances(synthetic, private))
    assert found == {"to private": 1.0, "to synthetic": 0.5}
