"""Which images look the same: copies do, different pictures and pictures of nothing do not."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from pcevolve.modality.images import likeness
from pcevolve.modality.images.likeness import alike, sketch


def picture(seed: int, side: int = 128) -> Image.Image:
    """A coarse pattern with a little grain."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (9, 9, 3), dtype=np.uint8)).resize((side, side))
    grain = random.normal(0, 6, (side, side, 3))
    return Image.fromarray(np.clip(np.asarray(coarse) + grain, 0, 255).astype(np.uint8))


def recompressed(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=30)
    return Image.open(buffer)


def pairs(*images: Image.Image) -> list[tuple[int, int]]:
    return list(alike([sketch(each) for each in images]))


def test_a_copy_that_was_scaled_compressed_or_brightened_looks_the_same():
    one, other = picture(1), picture(2)
    copies = (one.resize((64, 64)), recompressed(one), one.point(lambda value: value * 0.9))
    for copy in copies:
        assert pairs(one, other, copy) == [(0, 2)]


def test_different_pictures_do_not_look_the_same():
    assert pairs(*map(picture, range(60))) == []


def test_pictures_of_nothing_are_like_no_other():
    assert pairs(*(Image.new("RGB", (32, 32), (shade, shade, shade)) for shade in (0, 0, 9, 255))) == []


def test_all_pairs_are_found_whatever_is_compared_at_a_time(monkeypatch):
    images = [picture(seed % 5, 40) for seed in range(20)]
    whole = pairs(*images)
    monkeypatch.setattr(likeness, "BLOCK", 3)
    assert pairs(*images) == whole
    assert len(whole) == 5 * 6


def test_of_one_image_or_none_there_is_no_pair():
    assert pairs() == pairs(picture(1)) == []


def test_an_image_is_compared_with_those_behind_it_alone(monkeypatch):
    monkeypatch.setattr(likeness, "BLOCK", 2)
    compared: list[tuple[int, ...]] = []
    upper = np.triu

    def noted(values: np.ndarray, k: int) -> np.ndarray:
        compared.append(values.shape)
        return upper(values, k)

    monkeypatch.setattr(np, "triu", noted)
    assert pairs(*(picture(seed) for seed in (1, 2, 1, 2, 1))) == [(0, 2), (0, 4), (1, 3), (2, 4)]
    assert compared == [(2, 5), (2, 3), (1, 1)]
