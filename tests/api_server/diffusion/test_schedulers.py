"""A schedule that begins at an exact strength is the beginning of the model's own, also in flow matching."""

import diffusers
import pytest
import torch

from pcevolve_server.diffusion import schedulers
from pcevolve_server.errors import ModelLoadError

pytestmark = pytest.mark.models

NAMES = [
    "ddim", "ddpm", "dpmpp_2m", "dpmpp_2m_karras", "euler", "euler_a", "heun", "lcm", "lms", "pndm", "unipc",
]  # fmt: skip
OWN = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "clip_sample": False}
COSINE = {
    "beta_schedule": "squaredcos_cap_v2",
    "prediction_type": "v_prediction",
    "rescale_betas_zero_snr": True,
    "timestep_spacing": "leading",
    "steps_offset": 1,
}


@pytest.fixture
def own(request):
    """A model's own scheduler."""
    return diffusers.DDIMScheduler(**request.param)


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
def test_the_first_timestep_is_the_last_that_is_kept(name, own, kept, steps):
    begun = schedulers.begin_at(schedulers.scheduler_named(name, own), kept)
    begun.set_timesteps(steps)
    # Karras spacing finds its timesteps back from noise levels, and rounds down.
    assert kept - 1 - float(begun.timesteps[0]) in ([0, 1] if name == "dpmpp_2m_karras" else [0])
    assert float(begun.timesteps[-1]) >= 0


@pytest.mark.parametrize("name", [None, *NAMES])
@pytest.mark.parametrize("own", [OWN, COSINE], indirect=True)
def test_every_kept_timestep_means_the_same_noise_as_before(name, own):
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
def test_a_named_scheduler_is_the_same_whatever_flags_the_models_own_has(name, flags):
    trained = {name: OWN[name] for name in ("beta_start", "beta_end", "beta_schedule")}
    owns = [diffusers.DPMSolverMultistepScheduler(**trained, **each) for each in ({}, flags)]
    plain, flagged = (schedulers.scheduler_named(name, own) for own in owns)
    assert type(plain) is type(flagged)
    assert _list_settings(plain) == _list_settings(flagged)
    for each in (plain, flagged):
        each.set_timesteps(7)
    assert plain.timesteps.tolist() == flagged.timesteps.tolist()


def _list_settings(scheduler):
    return {name: value for name, value in scheduler.config.items() if not name.startswith("_")}


def test_only_the_name_says_whether_noise_levels_are_those_of_karras():
    own = diffusers.EulerDiscreteScheduler(use_karras_sigmas=True)
    karras = {name for name in NAMES if schedulers.scheduler_named(name, own).config.get("use_karras_sigmas")}
    assert karras == {"dpmpp_2m_karras"}
    assert schedulers.scheduler_named(None, own).config.use_karras_sigmas


def test_a_run_begins_at_its_first_level_also_where_several_round_to_one_timestep():
    own = diffusers.DDIMScheduler(beta_schedule="squaredcos_cap_v2")  # the bundled model's
    begun = schedulers.begin_at_first_level(schedulers.scheduler_named("dpmpp_2m_karras", own))
    begun.set_timesteps(9)
    assert begun.timesteps[0] == begun.timesteps[1]
    sample = torch.ones(1, 1, 2, 2)
    for timestep in begun.timesteps:
        sample = begun.step(sample, timestep, sample).prev_sample
    assert begun.step_index == 9


def test_a_scheduler_that_draws_noise_without_an_images_seed_is_refused():
    sde = type("DPMSolverSDEScheduler", (diffusers.DDIMScheduler,), {})  # the library's needs a package more
    with pytest.raises(ModelLoadError, match="draws noise that an image's seed does not determine"):
        schedulers.check(sde())
    made_from_one = {"noise_sampler_seed": None}
    schedulers.check(diffusers.EulerDiscreteScheduler.from_config(made_from_one))


@pytest.mark.parametrize("own", [OWN], indirect=True)
def test_flow_matching_is_told_apart_and_resolves_strength_as_finely(own):
    flow = diffusers.FlowMatchEulerDiscreteScheduler()
    assert not schedulers.is_discrete(flow)
    assert schedulers.is_discrete(own)
    assert schedulers.levels(flow) == schedulers.levels(own) == 1000


SHIFTS = {
    "none": ({"shift": 1.0}, None),
    "fixed": ({"shift": 3.0}, None),
    "by size": ({"use_dynamic_shifting": True}, 1.1),
    "by size, linear": ({"use_dynamic_shifting": True, "time_shift_type": "linear"}, 2.5),
    "to an end above zero": ({"use_dynamic_shifting": True, "shift_terminal": 0.02}, 0.8),
    "Karras spacing": ({"shift": 3.0, "use_karras_sigmas": True}, None),
}
"""What models of each family say, and the ``mu`` that a pipeline makes of the image's size."""


@pytest.fixture(params=SHIFTS)
def flow(request):
    """A model's own scheduler, and its ``mu``."""
    config, mu = SHIFTS[request.param]
    return diffusers.FlowMatchEulerDiscreteScheduler(**config), mu


def levels(flow, strength, steps):
    """Noise levels of a run from ``strength`` on, the last of which is zero; and its times."""
    scheduler, mu = flow
    begun = schedulers.begin_at(scheduler, round(strength * 1000))
    begun.set_timesteps(steps, mu=mu)
    return begun.sigmas, begun.timesteps


@pytest.mark.parametrize("strength", [0.001, 0.02, 0.6, 0.62, 0.999])
@pytest.mark.parametrize("steps", [1, 4, 10])
def test_a_run_begins_at_exactly_its_strength_and_falls_to_nothing(flow, strength, steps):
    sigmas, times = levels(flow, strength, steps)
    assert sigmas[0] == torch.tensor(strength)
    assert sigmas[-1] == 0
    assert (sigmas.diff() < 0).all()
    assert torch.allclose(times, sigmas[:-1] * 1000)


@pytest.mark.parametrize("name", SHIFTS)
def test_one_step_is_enough_wherever_a_schedule_ends(name):
    """As of a model that is tried out; stretched to an end above zero, the only level would be no number."""
    config, mu = SHIFTS[name]
    scheduler = schedulers.fit_steps(diffusers.FlowMatchEulerDiscreteScheduler(**config), 1)
    scheduler.set_timesteps(1, sigmas=[1.0], mu=mu)
    assert scheduler.sigmas.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["none", "fixed", "by size", "by size, linear"])
def test_what_is_left_of_a_run_is_spaced_as_the_run_was(name):
    """Five steps from the level that is half of the way are the last five of ten."""
    config, mu = SHIFTS[name]
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(**config)
    scheduler.set_timesteps(10, sigmas=[1 - step / 10 for step in range(10)], mu=mu)
    begun = schedulers.FlowFrom.of(scheduler, scheduler.sigmas[5].item())
    begun.set_timesteps(5, sigmas=[1 - step / 5 for step in range(5)], mu=mu)
    assert torch.allclose(begun.sigmas, scheduler.sigmas[5:], atol=1e-6)


def test_a_schedule_without_a_signal_at_its_end_is_run_by_those_that_know_it():
    usual = diffusers.DDIMScheduler()
    assert schedulers.names_for(usual) == tuple(schedulers.SCHEDULERS)
    silent = diffusers.DDIMScheduler(rescale_betas_zero_snr=True, timestep_spacing="trailing")
    names = schedulers.names_for(silent)
    assert {"ddim", "euler", "dpmpp_2m"} <= set(names)
    assert not {"pndm", "heun", "lms", "dpmpp_2m_karras"} & set(names)
    for name in names:
        assert schedulers.scheduler_named(name, silent).config.rescale_betas_zero_snr
