"""The captioner without a model: it measures what it names, in the words of a fixed list."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pcevolve_benchmarks.captioners.attributes import BRIGHTNESS, CONTRAST, HUES, MIDDLE, TEXTURE, Attributes
from support.runs import rng

WORDS = {word for scale in (BRIGHTNESS, CONTRAST, TEXTURE, MIDDLE) for _, word in scale}
WORDS |= {f"mostly {word}" for word in (*(word for _, word in HUES), "grey")}


def said(pixels: np.ndarray) -> list[str]:
    (caption,) = Attributes().captions([Image.fromarray(pixels.astype(np.uint8))])
    return caption.split(", ")


def plain(*colour: int) -> np.ndarray:
    return np.full((40, 30, 3), colour)


@pytest.mark.parametrize(
    ("colour", "words"),
    [
        ((0, 0, 0), ["very dark", "mostly grey"]),
        ((255, 255, 255), ["very bright", "mostly grey"]),
        ((250, 20, 20), ["dark", "mostly red"]),
        ((20, 20, 250), ["very dark", "mostly blue"]),
        ((20, 200, 20), ["of medium brightness", "mostly green"]),
    ],
)
def test_brightness_and_colour_are_what_they_are_called(colour: tuple[int, ...], words: list[str]):
    assert said(plain(*colour)) == [*words, "low contrast", "smooth", "evenly lit"]


def test_noise_is_fine_texture_and_a_spot_is_brighter_in_the_middle():
    noise = rng(0).integers(0, 256, (64, 64, 3))
    spot = plain(20, 20, 20)
    spot[10:30, 8:22] = 240
    assert said(noise)[3] == "finely textured"
    assert said(spot)[4] == "brighter in the middle"
    assert said(255 - spot)[4] == "darker in the middle"


def test_no_image_gets_a_word_that_is_not_on_the_list():
    for seed in range(50):
        low = rng(seed).integers(0, 256, (4, 4, 3)).astype(np.uint8)
        found = said(np.asarray(Image.fromarray(low).resize((64, 64))))
        assert set(found) <= WORDS
        assert len(found) == 5
