"""IP-Adapter: a tiny one with random weights, in the layout of the authors' releases."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.settings import Precision
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


def test_the_model_offers_the_adapter_by_its_name(adapted):
    assert adapted.info.pipelines[-1] == "ip-adapter"
    assert adapted.info.adapters == ("tiny-adapter",)


def test_without_the_adapter_images_are_those_of_the_model_alone(adapted, generator):
    plain, through = (varied(model, noise_image(1), noise_image(2)) for model in (generator, adapted))
    assert np.abs(plain - through).max() <= 1


def test_a_scale_of_zero_is_no_adapter_and_a_larger_one_tells(adapted):
    none, zero, one = (varied(adapted, noise_image(1), adapter_scale=scale)[0] for scale in (None, 0.0, 1.0))
    assert np.abs(none - zero).max() <= 1
    assert np.abs(one - zero).mean() > 0.5


def test_it_tells_a_denoiser_that_computes_in_bfloat16_as_much(tiny_model, adapter_file, adapted):
    settings = {"model": str(tiny_model), "adapter": str(adapter_file), "threads": 1}
    half = load(**settings, precision=Precision.BFLOAT16)
    image = noise_image(1)
    assert (
        np.abs(varied(half, image, adapter_scale=1.0) - varied(adapted, image, adapter_scale=1.0)).mean() < 2
    )
    assert np.abs(varied(half, image, adapter_scale=1.0) - varied(half, image)).mean() > 0.5


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


def test_a_missing_adapter_is_named_with_what_to_do(tiny_model):
    with pytest.raises(
        ModelLoadError, match=r"IP-Adapter nobody/no-adapter: .*hf download nobody/no-adapter"
    ):
        load(model=str(tiny_model), adapter="nobody/no-adapter", offline=True)
