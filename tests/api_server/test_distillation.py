"""What the few-step student is taught: the server's own steps, and where several of its teacher's lead."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.models

TRAINING = Path(__file__).parents[2] / "api_server" / "training"
STEPS = 4


@pytest.fixture(scope="module")
def distil():
    sys.path.insert(0, str(TRAINING))
    yield importlib.import_module("distil_unet")
    sys.path.remove(str(TRAINING))


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
