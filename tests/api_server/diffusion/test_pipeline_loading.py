"""Models in the shapes in which people have them: folders, one file, half precision alone, pickles; and refusals."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Batching, Lora, ModelSettings, SafetyPolicy
from pcevolve_server.work import Recipe
from support import single_file
from support.drawing import apart, pixels, tasks
from support.tiny_model import load, save_lora, tiny_pipeline, tiny_unet

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE}


def draw(model, **settings):
    generator = load(model=str(model), **(PLAIN | settings))
    return pixels(generator.create(tasks(Recipe(32, 32, steps=3, guidance=3.0), 1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole") / "mine"


@pytest.fixture(scope="module")
def checkpoint(folder):
    """One file with all weights, and beside it a folder of its name with the configuration and no weights."""
    pipeline = tiny_pipeline()
    pipeline.save_pretrained(folder, safe_serialization=True)
    for weights in folder.rglob("*.safetensors"):
        weights.unlink()
    return single_file.save(pipeline, folder.with_suffix(".safetensors"))


@pytest.fixture
def named(tiny_model, tmp_path):
    """Return a copy of the model whose weights are called otherwise, those of some parts or of all."""

    def copy(suffix, *parts):
        copied = tmp_path / suffix.strip(".")
        shutil.copytree(tiny_model, copied)
        for weights in list(copied.rglob("*.safetensors")):
            if not parts or weights.parent.name in parts:
                weights.rename(weights.with_name(weights.name.replace(".safetensors", suffix)))
        return copied

    return copy


def test_one_file_draws_what_its_folder_draws_without_a_network(checkpoint, tiny_model):
    assert (draw(checkpoint, offline=True) == draw(tiny_model)).all()
    assert load(model=str(checkpoint), offline=True, **PLAIN).info.id == "mine"


def test_one_file_without_its_configuration_says_which_files_are_missing_and_where_they_go(
    checkpoint, tmp_path
):
    alone = shutil.copy(checkpoint, tmp_path / "style.safetensors")
    with pytest.raises(
        ModelLoadError,
        match=r"one file has no configuration.*hf download stable-diffusion-v1-5/.*beside style",
    ):
        draw(alone, offline=True)


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
    with pytest.raises(ModelLoadError, match="the file has not all of the model's networks"):
        draw(tmp_path / "part.safetensors")


@pytest.mark.parametrize("layer", ["cond_stage_model.*q_proj", "decoder.mid.block_1", "output_blocks.0.0"])
def test_one_file_without_weights_of_some_layers_is_refused(changed, layer):
    model = changed(
        lambda weights: {name: each for name, each in weights.items() if not re.search(layer, name)}
    )
    with pytest.raises(ModelLoadError, match=r"weights.*: download the model again, whole"):
        draw(model)


@pytest.fixture
def changed(folder, checkpoint, tmp_path):
    """Return one file with the weights as a function leaves them, beside its configuration."""

    def copy(change, **scheduler):
        shutil.copytree(folder, tmp_path / "part")
        settings = tmp_path / "part" / "scheduler" / "scheduler_config.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | scheduler))
        weights = {name: each.clone() for name, each in change(load_file(checkpoint)).items()}
        save_file(weights, tmp_path / "part.safetensors")
        return tmp_path / "part.safetensors"

    return copy


def predicts(model):
    config = load(model=str(model), **PLAIN).scheduler.config
    return config.prediction_type, config.get("rescale_betas_zero_snr", False), config.timestep_spacing


def test_what_a_file_says_of_what_its_unet_predicts_is_read(changed):
    """As finetunes of SDXL to velocities say it, on a schedule without a signal at its end."""
    marks = {"v_pred": torch.zeros(1), "ztsnr": torch.zeros(1)}
    assert predicts(changed(lambda weights: weights | marks)) == ("v_prediction", True, "trailing")


def test_a_unet_that_predicts_noise_is_known_whatever_its_configuration_says(changed, monkeypatch):
    """As of Stable Diffusion 2, of which there are both kinds and one configuration."""
    from pcevolve_server.diffusion import prediction

    model = changed(lambda weights: weights, prediction_type="v_prediction")
    config = model.with_suffix("") / "unet" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"sample_size": 96}))
    found = load(model=str(model), **PLAIN)
    assert (found.scheduler.config.prediction_type, found.info.size.width) == ("v_prediction", 4 * 96)
    monkeypatch.setattr(prediction, "predicts_noise", lambda unet: True)
    found = load(model=str(model), **PLAIN)  # which was trained with smaller images
    assert (found.scheduler.config.prediction_type, found.info.size.width) == ("epsilon", 4 * 64)


@pytest.mark.parametrize(("share", "noise"), [(1.0, True), (0.9, True), (0.0, False), (-1.0, False)])
def test_noise_is_told_from_velocities_by_what_a_unet_says_of_pure_noise(share, noise):
    from pcevolve_server.diffusion.prediction import predicts_noise

    unet = tiny_unet()
    other = torch.randn((1, 4, 32, 32), generator=torch.Generator().manual_seed(1))
    unet.forward = lambda noisy, *_: SimpleNamespace(sample=share * noisy + (1 - share**2) ** 0.5 * other)
    assert predicts_noise(unet) is noise


def test_one_file_of_a_model_on_other_noise_levels_is_refused(changed):
    model = changed(lambda weights: weights | {"edm_vpred.sigma_max": torch.zeros(1)})
    with pytest.raises(ModelLoadError, match="noise levels of EDM, as CosXL"):
        draw(model)


@pytest.mark.parametrize("mark", ["scaled_fp8", "model.diffusion_model.out.2.scale_weight"])
def test_one_file_of_packed_weights_is_refused_and_not_read_without_their_scales(changed, mark):
    with pytest.raises(
        ModelLoadError, match="weights are packed, with scales that diffusers would leave out"
    ):
        draw(changed(lambda weights: weights | {mark: torch.ones(1)}))


@pytest.mark.parametrize("parts", [(), ("unet", "vae")], ids=["all", "some"])
@pytest.mark.parametrize("variant", ["fp16", "ema"])
def test_weights_of_one_variant_alone_are_found(named, tiny_model, variant, parts):
    assert (draw(named(f".{variant}.safetensors", *parts)) == draw(tiny_model)).all()


def test_plain_weights_come_before_a_variant(tiny_model, tmp_path):
    both = tmp_path / "both"
    shutil.copytree(tiny_model, both)
    (both / "unet" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"damaged")
    assert (draw(both) == draw(tiny_model)).all()


def test_pickled_networks_are_named_with_the_option_that_reads_them(tiny_model, tmp_path):
    pickled = tmp_path / "pickled"
    tiny_pipeline().save_pretrained(pickled, safe_serialization=False)
    (pickled / "vae" / "diffusion_pytorch_model.safetensors").write_bytes(b"?")  # this one would be safe
    with pytest.raises(ModelLoadError, match=r"unet has pickled weights \(.bin\) alone.*--allow-pickle"):
        draw(pickled)
    (pickled / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    if list(pickled.rglob("model.safetensors")):  # transformers writes no pickles any more
        assert (draw(pickled, allow_pickle=True) == draw(tiny_model)).all()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.safetensors", "there is no file gone.safetensors"),
        ("models/gone.ckpt", "there is no file models/gone.ckpt"),
        ("nobody-at-all/no-such-model", "cannot load the model nobody-at-all/no-such-model: .*hf download"),
        ("not a hub id", "cannot load the model not a hub id: .*hf download"),
        ("old.ckpt", r"old.ckpt: it is no .safetensors file.*--allow-pickle"),
        ("notes.txt", "is a file, and none with a model's weights"),
    ],
)
def test_what_can_only_fail_is_refused_before_any_library_is_imported(tmp_path, monkeypatch, name, reason):
    for file in ("old.ckpt", "notes.txt"):
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelLoadError, match=reason):
        sources.check(ModelSettings(model=name, offline=True))


def test_a_required_safety_checker_must_be_there(tiny_model):
    with pytest.raises(ModelLoadError, match="has no safety checker"):
        load(model=str(tiny_model), safety=SafetyPolicy.REQUIRED)
