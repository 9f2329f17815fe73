"""Flagged images are counted, tried again under derived seeds, and given up at the cap."""

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve_server.diffusion.safety import ModelChecker, SafeGenerator
from pcevolve_server.work import Picture, Recipe, Task
from support.served import FakeGenerator

pytestmark = pytest.mark.models

RECIPE = Recipe(width=8, height=8)


class Checker:
    """Refuses the reds below a threshold."""

    memory = 0

    def __init__(self, threshold):
        self.threshold = threshold

    def flag(self, images):
        return [bool(np.asarray(image)[0, 0, 0] < self.threshold) for image in images]


def tasks(*seeds):
    return [Task(RECIPE, "p", "", seed) for seed in seeds]


def guard(threshold, retries=3):
    """A guarded generator, which paints the seed's last byte, and the one within."""
    painter = FakeGenerator()
    painter.paint = lambda task: Picture(Image.new("RGB", (8, 8), (task.seed % 256, 0, 0)), cut_tokens=2)
    return SafeGenerator(painter, Checker(threshold), retries), painter


def seeds_of(painter):
    return [[task.seed for task in batch] for batch in painter.batches]


def test_clean_images_pass_untouched_and_only_once():
    generator, painter = guard(0)
    pictures = generator.create(tasks(1, 2))
    assert [(picture.image is not None, picture.refused) for picture in pictures] == [(True, 0)] * 2
    assert seeds_of(painter) == [[1, 2]]


def test_only_flagged_images_are_made_again_under_another_seed():
    generator, painter = guard(100)
    kept, remade = generator.create(tasks(200, 5))
    assert np.asarray(kept.image)[0, 0, 0] == 200
    assert remade.image is None or np.asarray(remade.image)[0, 0, 0] >= 100
    assert all(len(seeds) == 1 and seeds[0] != 5 for seeds in seeds_of(painter)[1:])
    assert kept.refused == 0
    assert remade.refused == len(seeds_of(painter)) - (remade.image is not None)


def test_retries_depend_on_the_seed_alone():
    first, second = (guard(256) for _ in range(2))
    first[0].create(tasks(7, 8))
    second[0].create(tasks(8))
    assert [seeds[1] for seeds in seeds_of(first[1])] == [seeds[0] for seeds in seeds_of(second[1])]


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_it_gives_up_at_the_cap_and_counts_every_refusal(retries):
    generator, painter = guard(256, retries)
    (picture,) = generator.vary(tasks(1))
    assert picture == Picture(None, cut_tokens=2, refused=retries + 1)
    assert len(seeds_of(painter)) == retries + 1


class RedChecker(torch.nn.Module):
    """Has the interface of Stable Diffusion's checker; refuses images that are mostly red."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(self, clip_input, images):
        assert clip_input.dtype == torch.float64
        return images, [bool(image[..., 0].mean() > 0.5) for image in images]


def test_the_models_own_checker_is_asked_about_every_image():
    from transformers import CLIPImageProcessor

    checker = ModelChecker(RedChecker(), CLIPImageProcessor(size=16, crop_size=16))
    pictures = [Image.new("RGB", (32, 32), colour) for colour in ("red", "blue", "white")]
    assert checker.flag(pictures) == [True, False, True]
