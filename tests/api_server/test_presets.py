"""What the server recommends for a model: by what the model is, and announced with it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pcevolve_server.diffusion.traits import recommended, solver
from pcevolve_server.settings import Batching
from pcevolve_server.work import Recipe, Task
from pcevolve_shared.wire import ModelInfo, Resolution
from support.tiny_model import load

pytestmark = pytest.mark.models


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
        ("./large", transformer(qk_norm="rms_norm"), scheduler("FlowMatchEulerDiscreteScheduler"), 28, 3.5),
        (
            "./medium",
            transformer(qk_norm="rms_norm", dual_attention_layers=(0, 1)),
            scheduler("FlowMatchEulerDiscreteScheduler"),
            40,
            4.5,
        ),
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


SD, XL = "StableDiffusionPipeline", "StableDiffusionXLPipeline"


@pytest.mark.parametrize(
    ("name", "kind", "own", "best"),
    [
        ("bundled", SD, "DDIMScheduler", None),
        ("sd-legacy/stable-diffusion-v1-5", SD, "PNDMScheduler", "dpmpp_2m_karras"),
        ("stabilityai/stable-diffusion-2-1", SD, "DDIMScheduler", "dpmpp_2m_karras"),
        ("stabilityai/stable-diffusion-xl-base-1.0", XL, "EulerDiscreteScheduler", "dpmpp_2m_karras"),
        ("stabilityai/sdxl-turbo", XL, "EulerDiscreteScheduler", None),
        ("./lcm-lora-merged", SD, "DDIMScheduler", "lcm"),
        ("./models/mine", SD, "LCMScheduler", None),
        ("./models/mine", SD, "EulerAncestralDiscreteScheduler", None),
        ("./models/mine", SD, "DPMSolverMultistepScheduler", None),
        ("./models/mine", SD, "FlowMatchEulerDiscreteScheduler", None),
    ],
)
def test_a_slow_solver_is_replaced_where_nothing_was_made_for_it(name, kind, own, best):
    model = pipeline(kind)
    model.scheduler = scheduler(own)
    model.scheduler.config = {}
    assert solver(name, model) == best


@pytest.mark.parametrize("special", [{"timestep_spacing": "trailing"}, {"rescale_betas_zero_snr": True}])
def test_a_schedule_that_begins_at_pure_noise_keeps_its_solver(special):
    model = pipeline()
    model.scheduler = scheduler("DDIMScheduler")
    model.scheduler.config = special
    assert solver("mine", model) is None


def test_a_consistency_model_that_runs_with_its_own_alone_keeps_it():
    model = pipeline(time_cond_proj_dim=256)
    model.scheduler = scheduler("LCMScheduler")
    model.scheduler.config = {}
    assert solver("mine", model) is None


def test_a_server_that_says_nothing_says_what_it_said_before():
    info = ModelInfo(
        id="m",
        name="m",
        family="f",
        pipelines=("text-to-image",),
        base_resolution=Resolution(width=64, height=64),
    )
    assert "recommended" not in info.model_dump()
    assert "scheduler" not in recommended("bundled", pipeline(), scheduler()).model_dump()


def test_it_is_announced_with_the_model(generator):
    assert generator.info.recommended is not None
    assert generator.info.recommended.steps == 25
    assert generator.info.recommended.scheduler == "dpmpp_2m_karras"


def image(generator, scheduler=None):
    task = Task(Recipe(width=32, height=32, steps=10, scheduler=scheduler), "a cat", "", 1)
    return generator.create([task])[0].image.tobytes()


def test_a_request_that_names_no_scheduler_gets_the_one_that_is_announced(generator):
    assert image(generator) == image(generator, "dpmpp_2m_karras") != image(generator, "pndm")


@pytest.mark.parametrize(("chosen", "same_as", "told"), [("own", "pndm", None), ("ddim", "ddim", "ddim")])
def test_what_the_operator_chooses_comes_before_the_preset(tiny_model, generator, chosen, same_as, told):
    served = load(model=str(tiny_model), threads=1, batching=Batching.MERGE, scheduler=chosen)
    assert served.info.recommended.scheduler == told
    assert image(served) == image(generator, same_as)


@pytest.mark.parametrize("kind", ["lcm", "flux-dev"])
def test_a_model_that_runs_with_its_own_alone_may_be_asked_for_it(zoo, kind):
    assert load(model=str(zoo(kind)), device="cpu", scheduler="own").info.recommended.scheduler is None


def test_a_flow_model_whose_name_speaks_of_consistency_keeps_its_solver(zoo, tmp_path):
    named = tmp_path / "lcm-flow"
    named.symlink_to(zoo("sd3"))
    assert load(model=str(named), device="cpu").info.recommended.scheduler is None


def test_the_bundled_model_keeps_the_solver_that_it_was_distilled_for():
    bundled = load(device="cpu", offline=True)
    assert bundled.info.recommended.scheduler is None
    assert type(bundled.scheduler).__name__ == "DDIMScheduler"
