"""Published encoders of texts: a tiny network of the real library, saved to disk as every release of it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcevolve.encoders import load_encoder, named_weights, weights_digest
from pcevolve.errors import ModelError
from support.tiny_writer import save_encoder

NAME = "transformer:somebody/tiny"

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


def test_texts_are_embedded_one_by_one_at_length_one(folder):
    encoder = load_encoder(NAME, str(folder))
    texts = ["a bird of prey", "fever", None, "", "x" * 3000, "a bird of prey"]
    rows = encoder.embed(texts)
    assert (encoder.name, encoder.dimension, encoder.frame, rows.shape) == (NAME, 16, None, (6, 16))
    assert np.linalg.norm(rows[[0, 1, 4]], axis=1) == pytest.approx(1.0)
    assert np.isnan(rows[[2, 3]]).all()
    assert rows[0].tobytes() == rows[5].tobytes() != rows[1].tobytes()
    assert all(
        encoder.embed([text])[0].tobytes() == row.tobytes() for text, row in zip(texts, rows, strict=True)
    )


def test_nobody_is_asked_for_anything_while_it_is_loaded_and_used(folder, monkeypatch):
    def reached(*where: object) -> None:
        raise AssertionError(f"somebody was asked: {where}")

    monkeypatch.setattr("socket.socket.connect", reached)
    monkeypatch.setattr("socket.getaddrinfo", reached)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert np.isfinite(load_encoder(NAME, str(folder)).embed(["a bird"])).all()
    with pytest.raises(ModelError, match=r"--set encoder.weights=DIR"):
        load_encoder(NAME)


def test_a_plan_names_a_directory_by_what_is_in_it(folder, tmp_path):
    digest = named_weights(NAME, str(folder))
    assert digest == weights_digest(str(folder))
    for each in folder.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / ".hidden").write_text("x")
    assert weights_digest(str(tmp_path)) == digest
    (tmp_path / "config.json").write_text("{}")
    assert weights_digest(str(tmp_path)) != digest
    assert named_weights(NAME, None) is None
