"""Where weights come from, and what is read of them."""

from __future__ import annotations

import shutil

import pytest

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Batching, ModelSettings
from pcevolve_server.work import Recipe
from support.drawing import pixels, tasks
from support.tiny_model import load, tiny_pipeline

pytestmark = pytest.mark.models

PLAIN = {"device": "cpu", "threads": 1, "batching": Batching.MERGE}


def draw(model, **settings):
    generator = load(model=str(model), **(PLAIN | settings))
    return pixels(generator.create(tasks(Recipe(32, 32, steps=3, guidance=3.0), 1)))


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
    with pytest.raises(ModelLoadError, match=r"unet has only pickled weights \(.bin\).*--allow-pickle"):
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
        ("old.ckpt", r"old.ckpt: it is not a .safetensors file.*--allow-pickle"),
        ("notes.txt", "is a file, but not a file with a model's weights"),
    ],
)
def test_what_can_only_fail_is_refused_before_any_library_is_imported(tmp_path, monkeypatch, name, reason):
    for file in ("old.ckpt", "notes.txt"):
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelLoadError, match=reason):
        sources.check(ModelSettings(model=name, offline=True))
