"""Models for few steps are known by their names, those of LoRAs among them, and asked with what their cards say."""

import shutil
from pathlib import Path

import pytest

from pcevolve_server.diffusion.distilled import is_few_step, steps_in
from pcevolve_server.model_settings import Batching, Lora
from support.model_zoo import ZOO
from support.tiny_model import load, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE, "offline": True}


def load_plain(model, **settings):
    return load(model=str(model), **(PLAIN | settings))


def find_advice(model, **settings):
    """Steps, guidance and scheduler that a model is best asked with."""
    best = load_plain(model, **settings).info.recommended
    return best.steps, best.guidance, best.scheduler


@pytest.fixture
def called(zoo, tmp_path):
    """Return a model of a kind in a folder of another name."""

    def copy(kind, name):
        return Path(shutil.copytree(zoo(kind), tmp_path / name))

    return copy


@pytest.mark.parametrize(
    ("kind", "name", "best"),
    [
        ("sdxl", "sdxl_lightning_8step", (8, 0.0, None)),
        ("sdxl", "Hyper-SDXL-1step", (1, 0.0, None)),
        ("sdxl", "SDXL-DMD2", (4, 0.0, "lcm")),
        ("sd15", "lcm-dreamshaper", (4, 1.5, "lcm")),
        ("sd3", "stable-diffusion-3.5-large-turbo", (4, 0.0, None)),
        ("flux-dev", "FLUX.1-Turbo-Alpha", (8, 3.5, None)),
        ("flux-dev", "hyper-flux-16steps", (16, 3.5, None)),
        ("qwen", "Qwen-Image-Lightning-8steps", (8, 0.0, None)),
        ("z-image", "Z-Image-Turbo", (8, 0.0, None)),
        ("z-image", "Z-Image", (28, 3.5, None)),
        ("sd15", "hyperrealism-25000steps", (25, 7.5, "dpmpp_2m_karras")),
    ],
)
def test_a_distilled_model_is_asked_with_what_its_name_says(called, kind, name, best):
    assert find_advice(called(kind, name)) == best


def test_strengths_of_a_distilled_flow_are_those_of_flows(called):
    assert load_plain(called("sd3", "sd3-turbo")).info.recommended.strength_low == 0.36


@pytest.mark.parametrize(
    ("name", "best", "spacing"),
    [
        ("lcm-lora-sdv1-5", (4, 1.5, "lcm"), "leading"),
        ("sd15_lightning_2step_lora", (2, 0.0, None), "trailing"),
        ("dmd2_lora", (4, 0.0, "lcm"), "leading"),
        ("my-style", (25, 7.5, "dpmpp_2m_karras"), "leading"),
    ],
)
def test_a_lora_for_few_steps_changes_what_its_model_is_asked_with(tiny_model, tmp_path, name, best, spacing):
    lora = Lora(str(save_lora(tmp_path, tiny_pipeline(), name=f"{name}.safetensors")))
    generator = load_plain(tiny_model, loras=(lora,))
    told = generator.info.recommended
    assert (told.steps, told.guidance, told.scheduler) == best
    assert generator.scheduler.config.timestep_spacing == spacing


def test_a_lora_that_adds_nothing_changes_nothing_and_a_usual_name_is_that_of_its_folder(
    tiny_model, tmp_path
):
    lora = save_lora(tmp_path / "lcm-lora", tiny_pipeline())
    assert find_advice(tiny_model, loras=(Lora(str(lora), 0.0),))[0] == 25
    assert find_advice(tiny_model, loras=(Lora(str(lora)),))[0] == 4
    assert find_advice(tiny_model, loras=(Lora(str(lora.parent)),))[0] == 4


def test_a_model_in_the_hubs_cache_is_called_by_its_id_and_not_by_its_revision(tmp_path):
    folder = tmp_path / "models--stabilityai--sdxl-turbo" / "snapshots" / "71153311"
    ZOO["sdxl-turbo"]().save_pretrained(folder)
    assert load_plain(folder).info.id == "stabilityai/sdxl-turbo"
    assert find_advice(folder) == (4, 0.0, None)


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
