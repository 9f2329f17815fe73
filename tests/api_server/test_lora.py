"""LoRA: tiny ones with random weights, as diffusers and most trainers save them."""

import dataclasses
import logging
import shutil

import numpy as np
import pytest
import torch

from pcevolve_server.errors import ModelLoadError, SettingsError
from pcevolve_server.settings import Batching, Lora, Precision
from pcevolve_server.work import Recipe, Task
from support.model_zoo import ZOO
from support.tiny_model import load, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

KINDS = ["sd15", "sdxl", "lcm", "sd3", "flux-dev"]
PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE, "precision": Precision.FLOAT32}


@pytest.fixture(scope="session")
def lora(tmp_path_factory):
    """Return the file of one LoRA, or another, for a kind of model."""

    def saved(kind, seed=0):
        directory = tmp_path_factory.mktemp("lora") / kind
        pipeline = tiny_pipeline() if kind == "sd15" else ZOO[kind]()
        return save_lora(directory, pipeline, seed)

    return saved


@pytest.fixture
def drawn(zoo):
    """Return the pixels of three images by a kind of model with LoRAs."""

    def draw(kind, *loras, **settings):
        generator = load(model=str(zoo(kind)), loras=loras, **(PLAIN | settings))
        recipe = Recipe(width=32, height=32, steps=3, guidance=3.0)
        pictures = generator.create([Task(recipe, "a cat", "", seed) for seed in range(3)])
        return np.stack([np.asarray(picture.image, dtype=int) for picture in pictures])

    return draw


def apart(one, other):
    return np.abs(one - other).mean()


@pytest.mark.parametrize("kind", KINDS)
def test_its_scale_says_how_much_it_changes(drawn, lora, kind):
    file = str(lora(kind))
    plain = drawn(kind)
    none, half, whole = (drawn(kind, Lora(file, scale)) for scale in (0.0, 0.5, 1.0))
    assert (none == plain).all()
    assert 0.3 < apart(half, plain) < apart(whole, plain)


def test_two_add_up_in_any_order_and_one_taken_away_again_is_none(drawn, lora):
    first, second = (str(lora("sd15", seed)) for seed in (1, 2))
    both = drawn("sd15", Lora(first), Lora(second))
    assert min(apart(both, drawn("sd15", Lora(each))) for each in (first, second)) > 0.3
    assert np.abs(both - drawn("sd15", Lora(second), Lora(first))).max() <= 1
    assert np.abs(drawn("sd15", Lora(first), Lora(first, -1.0)) - drawn("sd15")).max() <= 1


def test_a_model_with_one_shares_runs_bit_by_bit_and_takes_an_adapter_as_any_other(zoo, lora):
    generator = load(model=str(zoo("sd21")), device="cpu", threads=1, loras=(Lora(str(lora("sd21"))),))
    assert generator.companions > 1
    assert not any("lora" in name for name, _ in generator.text_to_image.unet.named_parameters())


def test_a_directory_and_a_file_of_any_name_are_found(drawn, lora, tmp_path):
    file = lora("sd15")
    other = shutil.copy(file, tmp_path / "my_style.safetensors")
    expected = drawn("sd15", Lora(str(file)))
    assert (drawn("sd15", Lora(str(file.parent))) == expected).all()
    assert (drawn("sd15", Lora(str(other))) == expected).all()
    assert (drawn("sd15", Lora(str(tmp_path))) == expected).all()


@pytest.mark.parametrize(("of", "reason"), [("sdxl", "other shapes"), ("flux-dev", "no weights for it")])
def test_one_for_another_model_is_refused(drawn, lora, of, reason):
    with pytest.raises(ModelLoadError, match=f"LoRA .* is not for .*tiny: .*{reason}"):
        drawn("sd15", Lora(str(lora(of))))


def test_one_that_fits_in_part_is_told_in_the_log(drawn, lora, caplog):
    from safetensors.torch import load_file, save_file

    file = lora("sd15")
    weights = load_file(file)
    name = next(name for name in weights if "lora_A" in name and "down_blocks.1" in name)
    for half in ("lora_A", "lora_B"):
        key = name.replace("lora_A", half)
        weights[key.replace("down_blocks.1", "down_blocks.7")] = weights[key].clone()
    save_file(weights, file)
    caplog.set_level(logging.WARNING)
    drawn("sd15", Lora(str(file)))
    (record,) = (record for record in caplog.records if record.getMessage() == "lora fits in part")
    assert record.of == record.layers + 1


def test_pickled_weights_are_read_only_if_allowed(drawn, lora, tmp_path):
    from safetensors.torch import load_file

    file = lora("sd15")
    pickled = tmp_path / "style.bin"
    torch.save(load_file(file), pickled)
    with pytest.raises(ModelLoadError, match=r"is no \.safetensors file: .*--allow-pickle"):
        drawn("sd15", Lora(str(pickled)))
    with pytest.raises(ModelLoadError, match=r"needs one \.safetensors file, and has none"):
        drawn("sd15", Lora(str(tmp_path)))
    assert (drawn("sd15", Lora(str(pickled)), allow_pickle=True) == drawn("sd15", Lora(str(file)))).all()


@pytest.mark.parametrize("source", ["nobody/no-lora", "./no-lora", "no lora"])
def test_a_missing_one_is_named(drawn, source):
    with pytest.raises(ModelLoadError, match=f"{source}"):
        drawn("sd15", Lora(source), offline=True)


def test_a_directory_of_several_and_a_damaged_file_are_refused(drawn, lora, tmp_path):
    for name in ("one", "two"):
        shutil.copy(lora("sd15"), tmp_path / f"{name}.safetensors")
    with pytest.raises(ModelLoadError, match="2 of them: name one"):
        drawn("sd15", Lora(str(tmp_path)))
    damaged = tmp_path / "one.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(ModelLoadError, match=r"cannot load the LoRA .*one\.safetensors"):
        drawn("sd15", Lora(str(damaged)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", Lora("a/b", 1.0)),
        ("a/b=0.5", Lora("a/b", 0.5)),
        ("./with=sign/x=-1", Lora("./with=sign/x", -1.0)),
    ],
)
def test_it_is_named_with_or_without_a_scale(text, expected):
    assert Lora.read(text) == expected


def test_a_directory_whose_name_looks_like_a_scale_is_a_directory(tmp_path):
    (tmp_path / "x=2").mkdir()
    assert Lora.read(str(tmp_path / "x=2")) == Lora(str(tmp_path / "x=2"), 1.0)


@pytest.mark.parametrize("text", ["", "=1", "a=", "a=b", "a=nan", "a=inf", "a=11"])
def test_a_name_without_source_or_with_an_odd_scale_is_refused(text):
    with pytest.raises(SettingsError, match=r"--lora .*write SOURCE or SOURCE=SCALE"):
        Lora.read(text)


def test_consistency_by_lora_runs_with_its_scheduler_and_says_so(zoo, lora):
    generator = load(model=str(zoo("sd15")), scheduler="lcm", loras=(Lora(str(lora("sd15"))),), **PLAIN)
    assert (generator.info.recommended.steps, generator.info.recommended.guidance) == (4, 1.5)
    recipe = Recipe(width=32, height=32, steps=4, guidance=1.5)
    assert len(generator.create([Task(dataclasses.replace(recipe), "a cat", "", 1)])) == 1
