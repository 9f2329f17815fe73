"""Published models are loaded from disk alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pcevolve.errors import ModelError
from pcevolve.public.encoders import load_encoder
from support.tiny_writer import save_encoder

PUBLISHED = "transformer:somebody/tiny"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.models
@pytest.mark.parametrize("part", ["query", "pooler"])
def test_weights_that_lack_are_told_unless_nobody_reads_what_they_make(folder, tmp_path, part):
    from safetensors.numpy import load_file, save_file

    lacking = Path(shutil.copytree(folder, tmp_path / "lacking"))
    weights = {
        name: each for name, each in load_file(lacking / "model.safetensors").items() if part not in name
    }
    save_file(weights, lacking / "model.safetensors", metadata={"format": "pt"})
    if part == "pooler":
        assert load_encoder(PUBLISHED, str(lacking)).embed(["a bird"]).shape == (1, 16)
        return
    with pytest.raises(
        ModelError, match=r"lacks weights for \S*query\S* \(2 are missing in all\): fetch it again"
    ):
        load_encoder(PUBLISHED, str(lacking))


@pytest.mark.models
def test_nobody_is_asked_for_anything_while_it_is_loaded_and_used(folder, monkeypatch):
    def fail_if_reached(*where: object) -> None:
        raise AssertionError(f"somebody was asked: {where}")

    monkeypatch.setattr("socket.socket.connect", fail_if_reached)
    monkeypatch.setattr("socket.getaddrinfo", fail_if_reached)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert np.isfinite(load_encoder(PUBLISHED, str(folder)).embed(["a bird"])).all()
    with pytest.raises(ModelError, match=r"--set encoder.weights=DIR"):
        load_encoder(PUBLISHED)
