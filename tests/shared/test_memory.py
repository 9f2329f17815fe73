"""Memory of one run of a network is kept for the next."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from pcevolve_shared.memory import keep_memory


@pytest.fixture(autouse=True)
def _anew():
    keep_memory.cache_clear()
    yield
    keep_memory.cache_clear()


def test_glibc_is_told_once_to_keep_blocks_of_32_mib_and_a_gib_of_free_memory(monkeypatch):
    told = []
    library = SimpleNamespace(mallopt=lambda *option: told.append(option))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    keep_memory()
    keep_memory()
    assert told == [(-3, 33_554_432), (-1, 1_073_741_824)]


def test_another_library_of_c_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    keep_memory()
