"""Encoders of texts: the bundled one, known words by meaning and others by name; and published ones, tiny and real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcevolve.errors import UsageError
from pcevolve.public.encoders import WORDS, load_encoder, named_weights, shipped_digest, weights_digest
from pcevolve.public.encoders.published import AUTO, resolve
from support.tiny_writer import save_encoder

ENCODER = load_encoder(WORDS)
TEXTS = ["an inflammation of the lungs", "small songbird of woods", "xq-17 xq-18", "", None, "?!"]


def test_an_embedding_has_length_one_and_depends_on_its_text_alone():
    together = ENCODER.embed(TEXTS)
    assert together.shape == (6, ENCODER.dimension)
    assert np.linalg.norm(together[:3], axis=1) == pytest.approx(1.0)
    assert np.isnan(together[3:]).all()
    for row, text in zip(together, TEXTS, strict=True):
        assert ENCODER.embed([text])[0].tobytes() == row.tobytes()


def test_texts_of_one_meaning_are_nearer_than_others():
    lung, bird, fever, owl = ENCODER.embed(
        [*TEXTS[:2], "disease of the respiratory organs with fever", "an owl with brown plumage"]
    )
    assert lung @ fever > lung @ owl + 0.2
    assert bird @ owl > bird @ fever + 0.2


def test_plans_name_its_vectors():
    digest = shipped_digest(WORDS)
    assert digest is not None
    assert len(digest) == 64
    assert named_weights(WORDS, None) == digest
    assert ENCODER.frame is None
    with pytest.raises(UsageError, match="encoder words has weights of its own and takes no others"):
        load_encoder(WORDS, "of somebody else's")


def test_auto_takes_it_for_texts_and_nothing_else_takes_another_kind():
    assert resolve(AUTO, "text")[0] == WORDS
    for name, kind in ((WORDS, "image"), ("bundled", "text")):
        with pytest.raises(UsageError, match=f"does not embed {kind}s"):
            resolve(name, kind)


PUBLISHED = "transformer:somebody/tiny"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.models
def test_texts_are_embedded_one_by_one_at_length_one(folder):
    encoder = load_encoder(PUBLISHED, str(folder))
    texts = ["a bird of prey", "fever", None, "", "x" * 3000, "a bird of prey"]
    rows = encoder.embed(texts)
    assert (encoder.name, encoder.dimension, encoder.frame, rows.shape) == (PUBLISHED, 16, None, (6, 16))
    assert np.linalg.norm(rows[[0, 1, 4]], axis=1) == pytest.approx(1.0)
    assert np.isnan(rows[[2, 3]]).all()
    assert rows[0].tobytes() == rows[5].tobytes() != rows[1].tobytes()
    assert all(
        encoder.embed([text])[0].tobytes() == row.tobytes() for text, row in zip(texts, rows, strict=True)
    )


@pytest.mark.models
def test_a_plan_names_a_directory_by_what_is_in_it(folder, tmp_path):
    digest = named_weights(PUBLISHED, str(folder))
    assert digest == weights_digest(str(folder))
    for each in folder.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / ".hidden").write_text("x")
    assert weights_digest(str(tmp_path)) == digest
    (tmp_path / "config.json").write_text("{}")
    assert weights_digest(str(tmp_path)) != digest
    assert named_weights(PUBLISHED, None) is None
