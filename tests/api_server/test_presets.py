"""What the server recommends for a model: by what the model is, and announced with it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pcevolve_server.diffusion.presets import recommended
from pcevolve_shared.wire import ModelInfo, Resolution


def pipeline(kind: str = "StableDiffusionPipeline", **config: object):
    made = type(kind, (), {})()
    made.unet = SimpleNamespace(config=dict(config))
    return made


def transformer(kind: str = "StableDiffusion3Pipeline", **config: object):
    made = type(kind, (), {})()
    made.transformer = SimpleNamespace(config=dict(config))
    return made


def scheduler(kind: str = "PNDMScheduler"):
    return type(kind, (), {})()


@pytest.mark.parametrize(
    ("name", "of", "by", "steps", "guidance"),
    [
        ("bundled", pipeline(), scheduler(), 4, 1.0),
        ("sd-legacy/stable-diffusion-v1-5", pipeline(), scheduler(), 25, 7.5),
        (
            "stabilityai/stable-diffusion-xl-base-1.0",
            pipeline("StableDiffusionXLPipeline"),
            scheduler(),
            30,
            5.0,
        ),
        ("stabilityai/sdxl-turbo", pipeline("StableDiffusionXLPipeline"), scheduler(), 4, 0.0),
        ("SimianLuo/LCM_Dreamshaper_v7", pipeline(time_cond_proj_dim=256), scheduler("LCMScheduler"), 4, 8.0),
        ("./models/mine", pipeline(), scheduler("LCMScheduler"), 4, 1.5),
        ("latent-consistency/lcm-lora-sdv1-5", pipeline(), scheduler(), 4, 1.5),
        ("./models/sdxl-lightning/", pipeline(), scheduler(), 4, 0.0),
        ("/home/turbo/models/mine", pipeline(), scheduler(), 25, 7.5),
        ("lcm-lightning/stable-diffusion-v1-5", pipeline(), scheduler(), 25, 7.5),
        ("./models/transformer", transformer(), scheduler("FlowMatchEulerDiscreteScheduler"), 28, 7.0),
        ("./models/sd3.5-large-turbo", transformer(), scheduler("FlowMatchEulerDiscreteScheduler"), 4, 0.0),
        ("./FLUX.1-dev", transformer("FluxPipeline", guidance_embeds=True), scheduler("FlowMatch"), 28, 3.5),
        (
            "./FLUX.1-schnell",
            transformer("FluxPipeline", guidance_embeds=False),
            scheduler("FlowMatch"),
            4,
            0.0,
        ),
    ],
)
def test_each_family_has_its_own(name, of, by, steps, guidance):
    found = recommended(name, of, by)
    assert (found.steps, found.guidance) == (steps, guidance)
    # The weakest variation of a model of few steps still takes one of them.
    assert found.strength_low * found.steps >= 1
    assert found.strength_low < found.strength_high


def test_a_server_that_says_nothing_says_what_it_said_before():
    info = ModelInfo(
        id="m",
        name="m",
        family="f",
        pipelines=("text-to-image",),
        base_resolution=Resolution(width=64, height=64),
    )
    assert "recommended" not in info.model_dump()


@pytest.mark.models
def test_it_is_announced_with_the_model(generator):
    assert generator.info.recommended is not None
    assert generator.info.recommended.steps == 25
