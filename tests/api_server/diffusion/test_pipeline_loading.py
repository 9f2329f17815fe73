"""Models in the shapes in which people have them: folders, one file, half precision alone, pickles; and refusals."""

import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from pcevolve_server.diffusion import pipeline_loading
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Batching, Lora, ModelSettings, WeightFormat
from pcevolve_server.work import Recipe
from support.drawing import apart, pixels, tasks
from support.tiny_model import load, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE}


def draw(model, **settings):
    generator = load(model=str(model), **(PLAIN | settings))
    return pixels(generator.create(tasks(Recipe(32, 32, steps=3, guidance=3.0), 1)))


def test_one_file_draws_what_its_folder_draws_without_a_network(checkpoint, tiny_model):
    assert (draw(checkpoint, offline=True) == draw(tiny_model)).all()
    assert load(model=str(checkpoint), offline=True, **PLAIN).info.id == "mine"


def test_one_file_without_its_configuration_says_which_files_are_missing_and_where_they_go(
    checkpoint, tmp_path
):
    alone = shutil.copy(checkpoint, tmp_path / "style.safetensors")
    with pytest.raises(
        ModelLoadError,
        match=r"a single file of weights has no configuration.*hf download stable-diffusion-v1-5/.*beside style",
    ):
        draw(alone, offline=True)


class Reader:
    """Stands for a class of pipelines; notes how a model is read."""

    def from_pretrained(self, folder, **named):
        self.named = named
        return tiny_pipeline()


def test_int8_packs_the_denoiser_alone_as_it_is_read(tiny_model, monkeypatch):
    reader = Reader()
    monkeypatch.setattr(pipeline_loading, "_class_of", lambda source: reader)
    for weights in WeightFormat:
        settings = ModelSettings(model=str(tiny_model), weights=weights)
        pipeline_loading.load(pipeline_loading.find(settings), settings, torch.device("cuda"))
        assert reader.named["dtype"] is torch.float16
        assert ("quantization_config" in reader.named) == (weights is WeightFormat.INT8)
    packed = reader.named["quantization_config"]
    assert (packed.quant_backend, packed.quant_kwargs) == ("bitsandbytes_8bit", {"load_in_8bit": True})
    assert packed.components_to_quantize == ["unet"]


def test_one_file_is_not_read_whole_where_int8_was_asked_for(checkpoint):
    with pytest.raises(ModelLoadError, match=r"int8 .* not a single file"):
        draw(checkpoint, weights=WeightFormat.INT8)


def test_one_file_takes_a_lora(checkpoint, tmp_path):
    lora = save_lora(tmp_path, tiny_pipeline())
    assert apart(draw(checkpoint, loras=(Lora(str(lora)),)), draw(checkpoint)) > 0.3


@pytest.mark.parametrize("offline", [True, False])
def test_a_lora_or_a_part_in_place_of_a_model_is_told_as_an_addition(tmp_path, offline):
    lora = save_lora(tmp_path, tiny_pipeline(), name="style.safetensors")
    with pytest.raises(ModelLoadError, match=r"style.safetensors: the file has no denoiser.*--lora"):
        draw(lora, offline=offline)
    save_file({"decoder.conv_in.weight": torch.zeros(1)}, tmp_path / "vae.safetensors")
    with pytest.raises(ModelLoadError, match=r"vae.safetensors: the file has no denoiser"):
        draw(tmp_path / "vae.safetensors", offline=offline)


def test_one_file_without_the_text_encoder_is_refused_as_incomplete(folder, checkpoint, tmp_path):
    shutil.copytree(folder, tmp_path / "part")
    weights = {name: each for name, each in load_file(checkpoint).items() if "cond_stage" not in name}
    save_file(weights, tmp_path / "part.safetensors")
    with pytest.raises(ModelLoadError, match=r"cannot load the model .*Failed to load CLIPTextModel"):
        draw(tmp_path / "part.safetensors")


@pytest.mark.parametrize("layer", ["cond_stage_model.*q_proj", "decoder.mid.block_1", "output_blocks.0.0"])
def test_one_file_without_weights_of_some_layers_is_refused(changed, layer):
    model = changed(
        lambda weights: {name: each for name, each in weights.items() if not re.search(layer, name)}
    )
    with pytest.raises(ModelLoadError, match=r"weights.*: download the complete model again"):
        draw(model)


def test_one_file_of_a_model_on_other_noise_levels_is_refused(changed):
    model = changed(lambda weights: weights | {"edm_vpred.sigma_max": torch.zeros(1)})
    with pytest.raises(ModelLoadError, match="noise levels of EDM, like CosXL"):
        draw(model)


@pytest.mark.parametrize("mark", ["scaled_fp8", "model.diffusion_model.out.2.scale_weight"])
def test_one_file_of_packed_weights_is_refused_and_not_read_without_their_scales(changed, mark):
    with pytest.raises(
        ModelLoadError, match="weights are quantized, with scales that diffusers would ignore"
    ):
        draw(changed(lambda weights: weights | {mark: torch.ones(1)}))
