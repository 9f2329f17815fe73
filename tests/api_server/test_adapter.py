"""IP-Adapter: a tiny one with random weights, in the layout of the authors' releases."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.work import Recipe, Task
from support.tiny_model import load, save_adapter

pytestmark = pytest.mark.models

RECIPE = Recipe(width=32, height=32, steps=4, strength=0.8)


@pytest.fixture(scope="module")
def adapter_file(generator, tmp_path_factory):
    return save_adapter(tmp_path_factory.mktemp("adapter"), generator.text_to_image.unet)


@pytest.fixture(scope="module")
def adapted(tiny_model, adapter_file):
    return load(model=str(tiny_model), adapter=str(adapter_file), threads=1)


def noise_image(seed):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (32, 32, 3), dtype=np.uint8))


def varied(generator, *images, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    pictures = generator.vary([Task(recipe, "cat", "", 3, image) for image in images])
    return np.stack([np.asarray(picture.image, dtype=int) for picture in pictures])


def test_a_scale_of_zero_is_no_adapter_and_a_larger_one_tells(adapted):
    none, zero, one = (varied(adapted, noise_image(1), adapter_scale=scale)[0] for scale in (None, 0.0, 1.0))
    assert np.abs(none - zero).max() <= 1
    assert np.abs(one - zero).mean() > 0.5


def test_at_full_strength_only_the_adapter_sees_the_image(adapted):
    images = noise_image(1), noise_image(2)
    through, past = (varied(adapted, *images, strength=1.0, adapter_scale=scale) for scale in (1.0, None))
    assert (through[0] != through[1]).any()
    assert np.abs(past[0] - past[1]).max() <= 1


@pytest.mark.parametrize("guidance", [0.0, 7.5])
def test_each_image_of_a_batch_conditions_its_own(adapted, guidance):
    images = noise_image(1), noise_image(2)
    together = varied(adapted, *images, adapter_scale=1.0, guidance=guidance)
    for image, expected in zip(images, together, strict=True):
        alone = varied(adapted, image, adapter_scale=1.0, guidance=guidance)[0]
        assert np.abs(alone - expected).max() <= 1
