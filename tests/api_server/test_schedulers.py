"""A schedule that begins at an exact strength is the beginning of the model's own."""

import pytest
import torch

pytestmark = pytest.mark.models

NAMES = [
    "ddim",
    "ddpm",
    "dpmpp_2m",
    "dpmpp_2m_karras",
    "euler",
    "euler_a",
    "heun",
    "lcm",
    "lms",
    "pndm",
    "unipc",
]
"""Written down a second time: diffusers takes seconds to import."""
OWN = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "clip_sample": False}
COSINE = {
    "beta_schedule": "squaredcos_cap_v2",
    "prediction_type": "v_prediction",
    "rescale_betas_zero_snr": True,
    "timestep_spacing": "leading",
    "steps_offset": 1,
}


@pytest.fixture(scope="module")
def schedulers():
    from pcevolve_server.diffusion import schedulers

    return schedulers


@pytest.fixture
def own(request):
    """A model's own scheduler."""
    from diffusers import DDIMScheduler

    return DDIMScheduler(**request.param)


GETIMG = ["euler_a", "euler", "lms", "ddim", "dpmsolver++", "pndm"]
"""What getimg's v1 API calls the schedulers of its Stable Diffusion endpoints."""


@pytest.mark.parametrize("name", GETIMG)
def test_a_request_as_getimg_takes_it_may_name_any_of_its_schedulers(generator, serve, name):
    ask = {"prompt": "a cat", "seed": 1, "steps": 3, "width": 32, "height": 32, "scheduler": name}
    with serve(generator) as client:
        answer = client.post("/v1/stable-diffusion/text-to-image", json=ask)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("name", [None, *NAMES])
@pytest.mark.parametrize("own", [OWN, COSINE], indirect=True)
@pytest.mark.parametrize(("kept", "steps"), [(620, 7), (20, 1), (999, 50)])
def test_the_first_timestep_is_the_last_that_is_kept(schedulers, name, own, kept, steps):
    begun = schedulers.begin_at(schedulers.scheduler_named(name, own), kept)
    begun.set_timesteps(steps)
    # Karras spacing finds its timesteps back from noise levels, and rounds down.
    assert kept - 1 - float(begun.timesteps[0]) in ([0, 1] if name == "dpmpp_2m_karras" else [0])
    assert float(begun.timesteps[-1]) >= 0


@pytest.mark.parametrize("name", [None, *NAMES])
@pytest.mark.parametrize("own", [OWN, COSINE], indirect=True)
def test_every_kept_timestep_means_the_same_noise_as_before(schedulers, name, own):
    full = schedulers.scheduler_named(name, own)
    begun = schedulers.begin_at(full, 600)
    assert torch.allclose(begun.alphas_cumprod, full.alphas_cumprod[:600], rtol=1e-5, atol=1e-7)


FLAGS = [
    {"use_karras_sigmas": True},
    {"use_exponential_sigmas": True},
    {"use_beta_sigmas": True},
    {"use_lu_lambdas": True, "solver_order": 3, "solver_type": "heun", "final_sigmas_type": "sigma_min"},
    {"algorithm_type": "sde-dpmsolver++", "thresholding": True, "euler_at_final": True},
]
"""What the model cards of DPM-Solver++ checkpoints set for their own scheduler."""


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: next(iter(flags)))
@pytest.mark.parametrize("name", NAMES)
def test_a_named_scheduler_is_the_same_whatever_flags_the_models_own_has(schedulers, name, flags):
    from diffusers import DPMSolverMultistepScheduler

    trained = {name: OWN[name] for name in ("beta_start", "beta_end", "beta_schedule")}
    owns = [DPMSolverMultistepScheduler(**trained, **each) for each in ({}, flags)]
    plain, flagged = (schedulers.scheduler_named(name, own) for own in owns)
    assert type(plain) is type(flagged)
    assert _told(plain) == _told(flagged)
    for each in (plain, flagged):
        each.set_timesteps(7)
    assert plain.timesteps.tolist() == flagged.timesteps.tolist()


def _told(scheduler):
    return {name: value for name, value in scheduler.config.items() if not name.startswith("_")}


def test_only_the_name_says_whether_noise_levels_are_those_of_karras(schedulers):
    from diffusers import EulerDiscreteScheduler

    own = EulerDiscreteScheduler(use_karras_sigmas=True)
    karras = {name for name in NAMES if schedulers.scheduler_named(name, own).config.get("use_karras_sigmas")}
    assert karras == {"dpmpp_2m_karras"}
    assert schedulers.scheduler_named(None, own).config.use_karras_sigmas


@pytest.mark.parametrize("own", [OWN], indirect=True)
def test_flow_matching_is_told_apart_and_resolves_strength_as_finely(schedulers, own):
    from diffusers import FlowMatchEulerDiscreteScheduler

    flow = FlowMatchEulerDiscreteScheduler()
    assert not schedulers.is_discrete(flow)
    assert schedulers.is_discrete(own)
    assert schedulers.levels(flow) == schedulers.levels(own) == 1000
