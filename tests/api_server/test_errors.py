"""Errors as callers see them."""

from __future__ import annotations

import pickle

from pcevolve_server.errors import NotFiniteError


def test_a_model_that_computes_no_numbers_says_what_helps_and_is_not_to_be_asked_again():
    error = pickle.loads(pickle.dumps(NotFiniteError()))  # as from a process of its own
    assert (error.status, error.code) == (422, "not_finite")
    assert "--precision bfloat16 or float32" in error.message
