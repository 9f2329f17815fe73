"""Copies are found, also turned, mirrored, cut and rotated ones, and no other pictures."""

from __future__ import annotations

import io
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from pcevolve.public.media.images import likeness
from pcevolve.public.media.images.likeness import find_alike, find_turned, sketch


def picture(seed: int, side: int = 128) -> Image.Image:
    """A coarse pattern with a little grain."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (9, 9, 3), dtype=np.uint8)).resize((side, side))
    grain = random.normal(0, 6, (side, side, 3))
    return Image.fromarray(np.clip(np.asarray(coarse) + grain, 0, 255).astype(np.uint8))


def recompress(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=30)
    return Image.open(buffer)


def pairs(*images: Image.Image) -> list[tuple[int, int]]:
    return list(find_alike([sketch(each) for each in images]))


def test_a_copy_that_was_scaled_compressed_or_brightened_looks_the_same_and_no_other_picture():
    one, other = picture(1), picture(2)
    for copy in (one.resize((64, 64)), recompress(one), one.point(lambda value: value * 0.9)):
        assert pairs(one, other, copy) == [(0, 2)]
    assert pairs(*map(picture, range(60))) == []


def test_all_pairs_are_found_and_each_once_however_few_are_compared_together(monkeypatch):
    monkeypatch.setattr(likeness, "BLOCK", 2)
    images = [picture(seed % 5, 40) for seed in range(20)]
    whole = [pair for pair in combinations(range(20), 2) if (pair[1] - pair[0]) % 5 == 0]
    assert sorted(pairs(*images)) == whole


def turned_pairs(*images: Image.Image, groups: list[str] | None = None) -> list[tuple[int, int]]:
    return sorted(find_turned([sketch(each) for each in images], groups or [*map(str, range(len(images)))]))


def cut(image: Image.Image, left: float, top: float, share: float = 0.9) -> Image.Image:
    side = image.width
    return image.crop(
        (round(left * side), round(top * side), *(round((at + share) * side) for at in (left, top)))
    )


TURNS = [Image.Transpose(turn) for turn in range(7)]


@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_or_mirrored_copy_is_found(turn):
    one = picture(1)
    assert turned_pairs(one, picture(2), recompress(one.transpose(turn))) == [(0, 2)]
    assert pairs(one, picture(2), one.transpose(turn)) == []


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_or_a_little_rotated_copy_is_found_turned_or_not(seed):
    one, random = picture(seed), np.random.default_rng(seed)
    for copy in (
        cut(one, *random.uniform(0, 0.1, 2)),
        cut(one, 0.025, 0.025, 0.95),
        one.rotate(random.uniform(-10, 10), Image.Resampling.BICUBIC),
        cut(one, *random.uniform(0, 0.1, 2)).transpose(TURNS[seed % 7]),
        one.rotate(random.uniform(-10, 10), Image.Resampling.BICUBIC).transpose(TURNS[seed % 7]),
        recompress(cut(one, *random.uniform(0, 0.1, 2))).resize((64, 64)),
    ):
        assert turned_pairs(copy, picture(seed + 100), one) == [(0, 2)]


def test_other_pictures_are_no_turned_copies_and_those_of_one_group_are_not_looked_for():
    assert turned_pairs(*map(picture, range(40))) == []
    one = picture(1)
    copies = (one, one.transpose(TURNS[0]), one.transpose(TURNS[2]))
    assert turned_pairs(*copies, groups=["p", "p", "q"]) == [(0, 2), (1, 2)]
    assert turned_pairs() == turned_pairs(one) == []


def test_round_shapes_of_one_outline_are_told_apart_by_what_is_in_them():
    rows, columns = np.mgrid[:96, :96]
    inside = ((rows - 48) ** 2 + (columns - 48) ** 2 < 1600)[..., None]
    filled = [np.asarray(picture(seed, 96)) // 4 + 120 for seed in range(8)]
    cells = [Image.fromarray(np.where(inside, each, 0).astype(np.uint8)) for each in filled]
    assert turned_pairs(*cells) == []
    assert turned_pairs(*cells, cells[3].transpose(TURNS[4])) == [(3, 8)]


def test_stripes_are_no_copies_of_other_stripes():
    rows = np.arange(96)[:, None] + np.zeros((1, 96), int)
    stripes = [Image.fromarray((rows % width < width // 2).astype(np.uint8) * 200) for width in (16, 18, 20)]
    assert turned_pairs(*stripes) == []
    assert turned_pairs(*stripes, recompress(stripes[1].transpose(TURNS[2]))) == [(1, 3)]


def test_plain_pictures_are_no_copies_of_anything():
    plain = [Image.new("L", (64, 64), shade) for shade in (0, 128, 128, 255)]
    assert turned_pairs(*plain, picture(1)) == []


def test_of_too_many_guesses_the_best_are_looked_at(monkeypatch):
    monkeypatch.setattr(likeness, "MOST_LOOKED_AT", 4)
    monkeypatch.setattr(likeness, "GUESSED", 0.0)
    images = [picture(seed) for seed in range(30)]
    assert turned_pairs(*images, images[7].transpose(TURNS[1])) == [(7, 30)]
