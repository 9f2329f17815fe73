"""Settings of one model: what is laid over it."""

from __future__ import annotations

import pytest

from pcevolve_server.errors import SettingsError
from pcevolve_server.model_settings import Embedding, Lora


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a/b", Lora("a/b", 1.0)), ("a/b=0.5", Lora("a/b", 0.5)), ("a=b=-10", Lora("a=b", -10.0))],
)
def test_a_lora_is_named_with_or_without_its_scale(text, expected):
    assert Lora.read(text) == expected


@pytest.mark.parametrize("text", ["", "=1", "a=", "a=much", "a=nan", "a=10.5"])
def test_a_lora_without_a_source_or_with_a_scale_out_of_bounds_is_refused(text):
    with pytest.raises(SettingsError, match=r"--lora .*write SOURCE or SOURCE=SCALE"):
        Lora.read(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("a/b", Embedding("a/b")), ("a/b=<x>", Embedding("a/b", "<x>"))]
)
def test_an_embedding_is_named_with_or_without_a_word(text, expected):
    assert Embedding.read(text) == expected


@pytest.mark.parametrize("text", ["", "=x", "a="])
def test_a_word_without_a_file_or_an_empty_one_is_refused(text):
    with pytest.raises(SettingsError, match=r"--embedding .*write SOURCE or SOURCE=WORD"):
        Embedding.read(text)
