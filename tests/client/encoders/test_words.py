"""The bundled encoder of texts: each by itself, known words by meaning, others by name."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.encoders import WORDS, load_encoder, named_weights, shipped_digest
from pcevolve.encoders.published import AUTO, resolve
from pcevolve.errors import UsageError

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


def test_auto_takes_it_for_texts_and_nothing_else_takes_another_kind():
    assert resolve(AUTO, "text")[0] == WORDS
    for name, kind in ((WORDS, "image"), ("bundled", "text")):
        with pytest.raises(UsageError, match=f"does not embed {kind}s"):
            resolve(name, kind)
