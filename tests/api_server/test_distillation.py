"""What the few-step student is taught: the server's own steps, and where several of its teacher's lead."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from pcevolve_server.diffusion.schedulers import begun_at, run_steps

pytestmark = pytest.mark.models

TRAINING = Path(__file__).parents[2] / "api_server" / "training"
STEPS = 4


@pytest.fixture(scope="module")
def distil():
    sys.path.insert(0, str(TRAINING))
    yield importlib.import_module("distil_unet")
    sys.path.remove(str(TRAINING))


@pytest.fixture
def places(distil):
    return distil.Places(400, 1000, STEPS, np.random.default_rng(0))


def test_steps_begin_and_end_where_the_servers_scheduler_has_them(distil, places):
    own = importlib.import_module("train_unet").scheduler()
    for row in range(0, 400, 7):
        kept = int(places._kept[row])
        scheduler = begun_at(own, kept) if kept < 1000 else own
        scheduler.set_timesteps(run_steps(kept / 1000, STEPS))
        wanted = scheduler.timesteps.tolist()
        assert [int(places.at(step)[row]) for step in range(len(wanted))] == wanted
        stride = scheduler.config.num_train_timesteps // len(wanted)
        assert [int(places.after(step)[row]) for step in range(len(wanted))] == [
            max(at - stride, -1) for at in wanted
        ]


def test_half_of_a_batch_begins_at_noise_and_every_row_has_a_step_left(places):
    assert 0.4 < places.created.float().mean() < 0.6
    assert (places._kept[places.created] == 1000).all()
    assert ((places.done >= 0) & (places.done < places.runs)).all()
    assert set(places.done[places.created].tolist()) == set(range(STEPS))


def test_the_clean_image_that_a_step_needs_is_the_one_it_was_made_with(distil):
    schedule = distil.Schedule()
    state, velocity = torch.randn(6, 4, 2, 2), torch.randn(6, 4, 2, 2)
    at, to = torch.tensor([999, 999, 749, 499, 249, 100]), torch.tensor([749, -1, 499, 249, -1, -1])
    later = schedule.moved(state, velocity, at, to)
    signal, noise = schedule.parts(at)
    clean = schedule.clean_of(state, later, at, to)
    assert torch.allclose(clean, signal * state - noise * velocity, atol=1e-3)


class Straight:
    """A denoiser whose velocities are those of one clean image, whatever the words; guidance changes nothing."""

    def __init__(self, schedule, clean):
        self.schedule, self.clean = schedule, clean

    def __call__(self, state, at, words):
        signal, noise = self.schedule.parts(at)
        velocity = (signal * state - self.clean) / noise
        return type("Output", (), {"sample": velocity})


def test_a_teacher_that_knows_the_image_walks_to_it_in_any_number_of_steps(distil):
    schedule, clean = distil.Schedule(), torch.randn(1, 4, 2, 2)
    teacher = distil.Teacher(Straight(schedule, clean), torch.zeros(1, 3, 2))
    asked = distil.Asked(torch.zeros(2, 3, 2), torch.full((2,), 5.0))
    state = schedule.noised(clean.repeat(2, 1, 1, 1), torch.tensor([999, 600]))
    ends = [
        teacher.walk(schedule, state, asked, torch.tensor([999, 600]), torch.tensor([-1, -1]), count)
        for count in (1, 3)
    ]
    for end in ends:
        assert torch.allclose(end, clean.expand_as(end), atol=1e-2)


def test_the_loss_is_nothing_for_a_student_that_does_what_its_teacher_does(distil):
    schedule, clean = distil.Schedule(), torch.randn(1, 4, 2, 2)
    unguided = Straight(schedule, clean)
    teacher = distil.Teacher(unguided, torch.zeros(1, 3, 2))
    asked = distil.Asked(torch.zeros(16, 3, 2), torch.full((16,), 5.0))
    args = type("Arguments", (), {"steps": STEPS, "substeps": 3})
    batch = clean.repeat(16, 1, 1, 1)
    loss = distil.loss_of(unguided, teacher, batch, asked, args, np.random.default_rng(0))
    wrong = Straight(schedule, clean + 1)
    other = distil.loss_of(wrong, teacher, batch, asked, args, np.random.default_rng(0))
    assert loss < 1e-4 < 0.5 < other


def test_each_prompt_is_guided_as_strongly_as_it_is_told_to(distil):
    def denoiser(state, at, words):
        return type("Output", (), {"sample": words[:, :1, :1, None].expand_as(state)})

    teacher = distil.Teacher(denoiser, torch.zeros(1, 3, 2))
    state, at = torch.zeros(2, 1, 1, 1), torch.tensor([999, 999])
    velocity = teacher.velocity(state, at, torch.ones(2, 3, 2), torch.tensor([1.0, 3.0]))
    assert velocity.flatten().tolist() == [1, 3]
