"""A class of pipelines belongs to the family that the table says, and one that nobody knows to none."""

import pytest

from pcevolve_server.diffusion import families
from pcevolve_server.diffusion.families import Family, family_of
from pcevolve_shared.wire import Recommended

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("kind", "encoders", "guidance", "draws", "alone"),
    [
        ("StableDiffusionPipeline", 1, "guidance_scale", "", False),
        ("StableDiffusionXLImg2ImgPipeline", 2, "guidance_scale", "", False),
        ("StableDiffusion3Pipeline", 1, "guidance_scale", "", False),
        ("FluxKontextPipeline", 1, "guidance_scale", "FluxKontextPipeline", False),
        ("QwenImagePipeline", 1, "true_cfg_scale", "", False),
        ("QwenImageEditPlusPipeline", 1, "true_cfg_scale", "QwenImagePipeline", True),
        ("Flux2Pipeline", 1, "guidance_scale", "", False),
    ],
)
def test_what_a_family_is_called_with_and_takes(kind, encoders, guidance, draws, alone):
    found = family_of(kind)
    assert (found.encoders, found.guidance, found.draws, found.alone) == (encoders, guidance, draws, alone)


def test_recommended_settings_are_those_of_the_models_cards():
    found = {
        name: (each.steps, each.guidance, each.strength_low, each.strength_high)
        for name, each in vars(families).items()
        if isinstance(each, Recommended)
    }
    assert found == {
        "BUNDLED": (4, 1.0, 0.3, 0.9),
        "DIFFUSION": (25, 7.5, 0.2, 0.95),
        "XL": (30, 5.0, 0.2, 0.95),
        "TURBO": (4, 0.0, 0.25, 0.95),
        "CONSISTENCY": (4, 8.0, 0.25, 0.95),
        "CONSISTENCY_LORA": (4, 1.5, 0.25, 0.95),
        "FLOW_LARGE": (28, 3.5, 0.36, 0.92),
        "FLOW_MEDIUM": (40, 4.5, 0.36, 0.92),
        "FLOW": (28, 7.0, 0.36, 0.92),
        "GUIDED_FLOW": (28, 3.5, 0.36, 0.92),
        "QWEN": (50, 4.0, 0.36, 0.92),
        "QWEN_PLUS": (40, 4.0, 0.36, 0.92),
        "EDITED_FLOW": (28, 2.5, 0.36, 0.92),
        "SHORT_FLOW": (4, 0.0, 0.36, 0.92),
        "HELD_FLOW": (8, 3.5, 0.36, 0.92),
        "Z_TURBO": (8, 0.0, 0.36, 0.92),
    }


def test_another_version_of_a_family_is_another_family():
    assert family_of("Flux2Pipeline") is families.UNKNOWN
    assert family_of("FluxPipeline").embeds == ("prompt_embeds", "pooled_prompt_embeds", "")
    assert family_of("StableDiffusion3Pipeline").embeds != family_of("StableDiffusionPipeline").embeds


def test_a_new_family_is_a_line_of_the_table(monkeypatch):
    new = Family("NewModel", families.Z_TURBO, guidance="scale")
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES, new))
    assert family_of("NewModelPipeline") is new
