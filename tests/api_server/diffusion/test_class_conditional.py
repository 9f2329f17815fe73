"""Models of classes and of pixels, tiny and random, saved to disk and loaded as a user's are."""

from __future__ import annotations

import json
from pathlib import Path

import diffusers
import numpy as np
import pytest
import torch

from pcevolve_server.diffusion import class_conditional, generator_loading
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.work import Recipe
from support import drawing
from support.drawing import apart, noise_image, pixels
from support.model_zoo import randomise
from support.tiny_model import tiny_vae

pytestmark = pytest.mark.models

CLASSES = {0: "tench, Tinca tinca", 1: "goldfish, Carassius auratus", 2: "fish"}
DIT, DDPM = "dit", "ddpm"


def dit_pipeline():
    """DiT: a transformer of latents that takes a class, predicts a variance too, and knows a class for any."""
    transformer = diffusers.DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        out_channels=8,
        num_layers=1,
        norm_num_groups=4,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=len(CLASSES),
    )
    return diffusers.DiTPipeline(
        randomise(transformer), tiny_vae(), diffusers.DDIMScheduler(clip_sample=False)
    )


def ddpm_pipeline(channels=3, size=16):
    """DDPM: a UNet of pixels that takes nothing besides."""
    unet = diffusers.UNet2DModel(
        sample_size=size,
        in_channels=channels,
        out_channels=channels,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    return diffusers.DDPMPipeline(unet, diffusers.DDPMScheduler())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("models")
    for name, pipeline in ((DIT, dit_pipeline()), (DDPM, ddpm_pipeline())):
        pipeline.save_pretrained(root / name)
    index = root / DIT / "model_index.json"  # where DiT's release names its classes, and diffusers forgets to
    index.write_text(json.dumps({**json.loads(index.read_text()), "id2label": CLASSES}))
    return {name: root / name for name in (DIT, DDPM)}


@pytest.fixture(scope="module")
def loaded(saved: dict[str, Path]) -> dict:
    return {
        name: generator_loading.load(ModelSettings(model=str(path), device="cpu", offline=True))
        for name, path in saved.items()
    }


def tasks(generator, *seeds: int, **changes) -> list:
    size = generator.info.size
    return drawing.tasks(Recipe(size.width, size.height, steps=4, guidance=3.0), *seeds, **changes)


@pytest.mark.parametrize("kind", [DIT, DDPM])
def test_a_picture_is_its_own_seed_s_whatever_its_companions(loaded, kind):
    generator = loaded[kind]
    alone, both = generator.create(tasks(generator, 1)), generator.create(tasks(generator, 1, 2))
    side = generator.info.size.width
    assert pixels(alone).shape == (1, side, side, 3)
    assert np.abs(pixels(alone)[0] - pixels(both)[0]).max() <= 1
    assert apart(*pixels(both)) > 1


@pytest.mark.parametrize("kind", [DIT, DDPM])
def test_strength_runs_from_the_image_itself_to_a_creation(loaded, kind):
    generator, side = loaded[kind], loaded[kind].info.size.width
    image = noise_image(0, side, side)
    varied = {
        strength: pixels(generator.vary(tasks(generator, 5, image=image, strength=strength)))[0]
        for strength in (0.0, 0.02, 1.0)
    }
    assert (varied[0.0] == np.asarray(image)).all()
    assert (varied[1.0] == pixels(generator.create(tasks(generator, 5)))[0]).all()
    near, far = (apart(varied[strength], varied[0.0]) for strength in (0.02, 1.0))
    assert 0 < near < far or kind == DIT  # the tiny autoencoder cannot give an image back
    again = pixels(generator.vary(tasks(generator, 6, image=image, strength=0.5)))
    assert (again != pixels(generator.vary(tasks(generator, 5, image=image, strength=0.5)))).any()


def test_a_prompt_names_a_class_by_whole_words_and_the_longest_name(loaded):
    named = loaded[DIT]._find_class
    assert named("a photo of a Goldfish!", 0) == 1
    assert named("A TINCA TINCA in a pond", 0) == 0
    assert named("carassius auratus, a fish", 0) == 1
    assert named("one fish", 0) == 2
    assert named("fishes") is None


def test_a_prompt_that_names_none_is_of_a_class_that_its_seed_draws(loaded):
    assert [loaded[DIT]._find_class("fishes", seed) for seed in range(8)] == [2, 2, 1, 0, 1, 0, 0, 2]


def test_guidance_is_for_classes_alone(loaded):
    assert {kind: loaded[kind].info.recommended.guidance for kind in loaded} == {DIT: 4.0, DDPM: 1.0}


def test_pixels_of_one_channel_are_served_as_grey():
    generator = class_conditional.make_generator(ddpm_pipeline(1), "grey")
    (made,) = pixels(generator.create(tasks(generator, 1)))
    (kept,) = pixels(generator.vary(tasks(generator, 1, strength=0.01, image=noise_image(16, 16))))
    for each in (made, kept):
        assert (each[..., :1] == each).all()


@pytest.mark.parametrize(
    ("channels", "size", "words"), [(4, 16, "4 channels"), (3, (16, 24), r"sample_size is .*16, 24")]
)
def test_pixels_of_other_channels_and_oblong_images_are_refused_in_words(channels, size, words):
    with pytest.raises(ModelLoadError, match=words):
        class_conditional.make_generator(ddpm_pipeline(channels, size), "odd")
