"""What can be loaded, and what is said when it cannot."""

import dataclasses
import shutil

import pytest
import torch
from PIL import Image

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.settings import Batching, ModelSettings, SafetyPolicy
from support.tiny_model import load

pytestmark = pytest.mark.models


def test_a_hub_id_that_is_not_cached_is_named_with_how_to_fetch_it():
    name = "nobody-at-all/no-such-model"
    with pytest.raises(
        ModelLoadError, match=f"cannot load the model {name}: .*`hf download {name} --local-dir DIR`"
    ):
        load(model=name, offline=True)


@pytest.mark.parametrize("name", ["nobody-at-all/no-such-model", "not a hub id"])
def test_offline_a_model_that_is_not_cached_is_missed_before_any_library_is_imported(name):
    with pytest.raises(ModelLoadError, match=f"cannot load the model {name}: .*hf download"):
        sources.check(ModelSettings(model=name, offline=True))


def test_a_local_model_passes_the_early_check(tiny_model):
    sources.check(ModelSettings(model=str(tiny_model), offline=True))


@pytest.mark.parametrize("name", ["/no/such/dir", "./nothing", "~/nothing-here", "a/b/c"])
def test_a_path_that_is_no_directory_is_not_looked_up_anywhere(name):
    with pytest.raises(ModelLoadError, match="there is no directory"):
        load(model=name)


def test_a_directory_that_is_no_pipeline_is_refused(tmp_path):
    with pytest.raises(ModelLoadError, match=r"cannot load the model .*model_index.json"):
        load(model=str(tmp_path))


def test_weights_that_are_pickled_are_refused_unless_allowed(tiny_model, tmp_path):
    copy = tmp_path / "pickled"
    shutil.copytree(tiny_model, copy)
    (copy / "unet" / "diffusion_pytorch_model.safetensors").rename(
        copy / "unet" / "diffusion_pytorch_model.bin"
    )
    with pytest.raises(ModelLoadError, match=r"cannot load the model .*safetensors"):
        load(model=str(copy))


def test_a_missing_device_is_named(tiny_model):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ModelLoadError, match="device cuda is not available"):
        load(model=str(tiny_model), device="cuda")


def test_an_unknown_default_scheduler_is_refused(tiny_model):
    with pytest.raises(ModelLoadError, match="unknown scheduler"):
        load(model=str(tiny_model), scheduler="nope")


def test_a_default_scheduler_replaces_the_models_own(tiny_model):
    assert type(load(model=str(tiny_model), scheduler="euler").scheduler).__name__ == "EulerDiscreteScheduler"


def test_a_required_safety_checker_must_be_there(tiny_model):
    with pytest.raises(ModelLoadError, match="has no safety checker"):
        load(model=str(tiny_model), safety=SafetyPolicy.REQUIRED)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ModelSettings(model="bundled"), "bundled"),
        (ModelSettings(model="a/b"), "a/b"),
        (ModelSettings(model="a/b", model_id="mine"), "mine"),
    ],
)
def test_a_model_is_called_by_its_name(settings, expected):
    assert sources.model_id(settings) == expected


def test_a_local_model_is_called_by_its_directory(tiny_model):
    settings = ModelSettings(model=str(tiny_model) + "/")
    assert sources.model_id(settings) == "tiny"
    assert sources.model_id(dataclasses.replace(settings, model_id="mine")) == "mine"


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


def test_a_large_model_decodes_in_tiles_what_it_was_not_made_for_unless_told_otherwise(tiny_model):
    latents = torch.randn(1, 4, 24, 24, generator=torch.Generator().manual_seed(0))
    made = {}
    for tiling in (True, False):
        vae = load(
            model=str(tiny_model), batching=Batching.MERGE, tiling=tiling, device="cpu"
        ).text_to_image.vae
        assert vae.tile_latent_min_size < 24
        with torch.inference_mode():
            made[tiling] = vae.decode(latents).sample
        assert vae.use_tiling is tiling
    assert made[True].shape == made[False].shape
    assert not torch.equal(made[True], made[False])


def test_a_small_model_in_exact_batches_has_no_tiles():
    assert not load(model="bundled", device="cpu").text_to_image.vae.use_tiling
