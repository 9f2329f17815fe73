"""Names say that a model was distilled for few steps, and for how many."""

from __future__ import annotations

import pytest

from pcevolve_server.diffusion.few_steps import is_few_step, steps_in


@pytest.mark.parametrize(
    ("name", "few", "steps"),
    [
        ("sdxl_lightning_8step", True, 8),
        ("hyper-sd15-1step-lora", True, 1),
        ("hyper_flux", True, None),
        ("qwen-image-lightning-16steps", True, 16),
        ("sd-turbo", True, None),
        ("dmd2_sdxl_4step_lora", True, 4),
        ("admd", False, None),
        ("stable-diffusion-v1-5", False, None),
        ("trained-for-17-steps", False, None),
        ("0step", False, None),
        ("checkpoint-1000-steps", False, None),
    ],
)
def test_names_tell_models_of_few_steps(name, few, steps):
    assert (is_few_step(name), steps_in(name)) == (few, steps)
