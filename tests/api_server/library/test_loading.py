"""What a library is loaded with."""

from __future__ import annotations

import os

import faiss
import pytest

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Embedding, Lora, SafetyPolicy


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"safety": SafetyPolicy.REQUIRED}, "a library has no safety checker"),
        ({"adapter": "ip"}, "need a diffusion model"),
        ({"scheduler": "ddim"}, "need a diffusion model"),
        ({"loras": (Lora("style"),)}, "need a diffusion model"),
        ({"embeddings": (Embedding("word"),)}, "need a diffusion model"),
    ],
)
def test_what_only_a_model_that_draws_can_do_is_refused(root, loaded, setting, reason):
    with pytest.raises(ModelLoadError, match=reason):
        loaded(root, **setting)


def test_a_library_takes_the_cores_that_the_process_may_use(root, loaded, monkeypatch):
    taken = []
    monkeypatch.setattr(faiss, "omp_set_num_threads", taken.append)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    loaded(root, threads=0)
    assert set(taken) == {1}
