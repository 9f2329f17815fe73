"""Flow matching that begins at an exact share of noise, whatever shifts the schedule."""

import pytest
import torch

pytestmark = pytest.mark.models

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
def own(request):
    """A model's own scheduler, and its ``mu``."""
    from diffusers import FlowMatchEulerDiscreteScheduler

    config, mu = SHIFTS[request.param]
    return FlowMatchEulerDiscreteScheduler(**config), mu


def levels(own, strength, steps, sigmas=None):
    """Noise levels of a run from ``strength`` on, the last of which is zero; and its times."""
    from pcevolve_server.diffusion.schedulers import begin_at

    scheduler, mu = own
    begun = begin_at(scheduler, round(strength * 1000))
    begun.set_timesteps(steps, sigmas=sigmas, mu=mu)
    return begun.sigmas, begun.timesteps


@pytest.mark.parametrize("strength", [0.001, 0.02, 0.6, 0.62, 0.999])
@pytest.mark.parametrize("steps", [1, 4, 10])
def test_a_run_begins_at_exactly_its_strength_and_falls_to_nothing(own, strength, steps):
    sigmas, times = levels(own, strength, steps)
    assert sigmas[0] == torch.tensor(strength)
    assert sigmas[-1] == 0
    assert (sigmas.diff() < 0).all()
    assert torch.allclose(times, sigmas[:-1] * 1000)


@pytest.mark.parametrize("name", ["none", "fixed", "by size", "by size, linear"])
def test_what_is_left_of_a_run_is_spaced_as_the_run_was(name):
    """Five steps from the level that is half of the way are the last five of ten."""
    from diffusers import FlowMatchEulerDiscreteScheduler

    from pcevolve_server.diffusion.schedulers import FlowFrom

    config, mu = SHIFTS[name]
    scheduler = FlowMatchEulerDiscreteScheduler(**config)
    scheduler.set_timesteps(10, sigmas=[1 - step / 10 for step in range(10)], mu=mu)
    begun = FlowFrom.of(scheduler, scheduler.sigmas[5].item())
    begun.set_timesteps(5, sigmas=[1 - step / 5 for step in range(5)], mu=mu)
    assert torch.allclose(begun.sigmas, scheduler.sigmas[5:], atol=1e-6)
