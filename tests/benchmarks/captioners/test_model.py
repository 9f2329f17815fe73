"""A local captioner: a tiny network of the real library, saved to disk as every release of it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from pcevolve.errors import ModelError
from pcevolve_benchmarks.captioners.model import LONGEST, load_captioner
from support.runs import rng
from support.tiny_captioner import save_captioner

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_captioner(tmp_path_factory.mktemp("captioner") / "tiny-eyes")


def pictures() -> list[Image.Image]:
    return [Image.fromarray(rng(seed).integers(0, 256, (20, 24, 3)).astype("uint8")) for seed in range(2)]


def test_an_image_gets_the_same_words_whenever_and_beside_whatever_it_is_shown(folder: Path):
    captioner = load_captioner(str(folder))
    one, other = pictures()
    said = captioner.captions([one, other, one])
    assert said[0] == said[2] == captioner.captions([one])[0]
    assert all(isinstance(each, str) and len(each) <= LONGEST for each in said)
    assert any(said)


def test_it_is_named_by_its_folder_and_its_weights(folder: Path):
    named = load_captioner(str(folder)).name
    assert re.fullmatch(r"tiny-eyes \([0-9a-f]{16}\)", named)
    assert named == load_captioner(str(folder)).name


def test_what_is_not_at_hand_is_not_fetched():
    with pytest.raises(ModelError, match=r"neither at hand nor fetched.*--captioner DIR"):
        load_captioner("nobody/no-such-captioner")
