"""Votes beside noise, counted again from what a run of public images leaves."""

from __future__ import annotations

import numpy as np

from pcevolve_benchmarks.tables.outcomes import votes_cast


def test_every_shot_votes_for_the_nearest_candidate_of_its_own_class():
    shots = np.array([[0.0], [1.0], [9.0], [9.0]]), np.array([0, 0, 0, 1])
    candidates = np.array([[0.1], [8.0], [9.0], [5.0]]), np.array([0, 0, 1, 1])
    assert votes_cast(shots, candidates).tolist() == [2, 1, 1, 0]
