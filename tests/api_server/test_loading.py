"""What can be loaded, and what is said when it cannot."""

import shutil

import pytest
import torch
from PIL import Image

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import ModelSettings, SafetyPolicy
from support.tiny_model import load

pytestmark = pytest.mark.models


@pytest.mark.parametrize("name", ["nobody-at-all/no-such-model", "not a hub id"])
def test_offline_a_model_that_is_not_cached_is_missed_before_any_library_is_imported(name):
    with pytest.raises(ModelLoadError, match=f"cannot load the model {name}: .*hf download"):
        sources.check(ModelSettings(model=name, offline=True))


def test_weights_that_are_pickled_are_refused_unless_allowed(tiny_model, tmp_path):
    copy = tmp_path / "pickled"
    shutil.copytree(tiny_model, copy)
    (copy / "unet" / "diffusion_pytorch_model.safetensors").rename(
        copy / "unet" / "diffusion_pytorch_model.bin"
    )
    with pytest.raises(ModelLoadError, match=r"cannot load the model .*safetensors"):
        load(model=str(copy))


def test_a_required_safety_checker_must_be_there(tiny_model):
    with pytest.raises(ModelLoadError, match="has no safety checker"):
        load(model=str(tiny_model), safety=SafetyPolicy.REQUIRED)


class RedChecker(torch.nn.Module):
    """Has the interface of Stable Diffusion's checker; refuses images that are mostly red."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(self, clip_input, images):
        assert clip_input.dtype == torch.float64
        return images, [bool(image[..., 0].mean() > 0.5) for image in images]


def test_the_models_own_checker_is_asked_about_every_image():
    from transformers import CLIPImageProcessor

    from pcevolve_server.diffusion.safety import ModelChecker

    checker = ModelChecker(RedChecker(), CLIPImageProcessor(size=16, crop_size=16))
    pictures = [Image.new("RGB", (32, 32), colour) for colour in ("red", "blue", "white")]
    assert checker.flagged(pictures) == [True, False, True]
