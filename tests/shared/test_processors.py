"""How many processors a process may use."""

from __future__ import annotations

import os

import pytest

from pcevolve_shared.processors import count_cores


@pytest.mark.parametrize(("bound", "there", "count"), [({3, 5}, 8, 2), (None, 8, 8), (None, None, 1)])
def test_cores_are_those_that_the_process_is_bound_to_or_all_or_one(monkeypatch, bound, there, count):
    if bound is None:
        monkeypatch.delattr(os, "sched_getaffinity")
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: bound)
    monkeypatch.setattr(os, "cpu_count", lambda: there)
    assert count_cores() == count
