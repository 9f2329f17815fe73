"""Folders of models from which something lacks: told by its name, and never filled with chance."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest
from safetensors.torch import load_file, save_file

from pcevolve_server.diffusion import parts
from pcevolve_server.errors import ModelLoadError
from support.tiny_model import load, tiny_pipeline

pytestmark = pytest.mark.models

UNET = "unet/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "mine"))


def expect_refusal(place: Path, reason: str) -> None:
    with pytest.raises(ModelLoadError, match=reason):
        load(model=str(place), offline=True, device="cpu", threads=1)


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: shutil.rmtree(folder / name)


def pointer(folder: Path) -> None:
    (folder / UNET).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n")


def cut(folder: Path) -> None:
    (folder / UNET).write_bytes((folder / UNET).read_bytes()[:-1000])


def linked_to_nothing(folder: Path) -> None:
    (folder / UNET).unlink()
    (folder / UNET).symlink_to("../../blobs/gone")


def without_a_shard(folder: Path) -> None:
    (folder / UNET).unlink()
    tiny_pipeline().unet.save_pretrained(folder / "unet", max_shard_size="100KB")
    sorted((folder / "unet").glob("*-of-*"))[-1].unlink()


def without_weights(folder: Path, file: str = UNET) -> None:
    weights = load_file(folder / file)
    save_file({name: weights[name] for name in sorted(weights)[3:]}, folder / file, metadata={"format": "pt"})


def without_words(folder: Path) -> None:
    without_weights(folder, "text_encoder/model.safetensors")


def without_first_encoder(folder: Path) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    index |= {"_class_name": "StableDiffusionXLPipeline", "text_encoder": [None, None]}
    (folder / "model_index.json").write_text(json.dumps(index))


def of_another_library(folder: Path) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    index["_class_name"] = "OnnxStableDiffusionPipeline"
    (folder / "model_index.json").write_text(json.dumps(index))


def without_a_vocabulary(folder: Path) -> None:
    (folder / "tokenizer" / "tokenizer.json").unlink()


def without_merges(folder: Path) -> None:
    without_a_vocabulary(folder)
    (folder / "tokenizer" / "vocab.json").write_text("{}")


LACKING: dict[str, tuple[Callable[[Path], object], str]] = {
    "no network": (without("unet"), "its folder has no unet: download the complete model"),
    "no tokenizer": (without("tokenizer"), "its folder has no tokenizer"),
    "a pointer": (pointer, "cannot load the model"),
    "an empty file": (lambda folder: (folder / UNET).write_bytes(b""), "cannot load the model"),
    "a file that was cut off": (cut, "cannot load the model"),
    "a file behind its link": (linked_to_nothing, "cannot load the model"),
    "no last shard": (without_a_shard, "cannot load the model"),
    "no weights for some layers": (
        without_weights,
        "unet lacks weights of some layers: download the complete model",
    ),
    "no weights for some words": (without_words, "text_encoder lacks weights of some layers: download"),
    "an encoder, as of a refiner": (without_first_encoder, "it is a refiner"),
    "words of its tokenizer": (without_a_vocabulary, "tokenizer has no words: download"),
    "rules of its tokenizer": (without_merges, "cannot load the model .*merges"),
    "networks for PyTorch": (of_another_library, "its networks are for ONNX Runtime"),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_lacks_is_told_by_its_name(folder: Path, name: str):
    change, reason = LACKING[name]
    change(folder)
    expect_refusal(folder, reason)


def test_words_that_lack_are_told_of_a_model_in_the_hubs_cache_too(folder: Path, tmp_path: Path, monkeypatch):
    repository = tmp_path / "models--o--m"
    cached = Path(shutil.copytree(folder, repository / "snapshots" / "1f"))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("1f")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert load(model="o/m", offline=True, device="cpu", threads=1).info.id == "o/m"
    (cached / "tokenizer" / "tokenizer.json").unlink()
    expect_refusal(Path("o/m"), "cannot load the model o/m: tokenizer has no words")


def test_a_model_in_shards_is_whole_if_all_are_there(folder: Path):
    (folder / UNET).unlink()
    tiny_pipeline().unet.save_pretrained(folder / "unet", max_shard_size="100KB")
    assert len(list((folder / "unet").glob("*-of-*"))) > 1
    assert load(model=str(folder), offline=True, device="cpu", threads=1).info.id == "mine"


def test_a_folder_that_is_none_of_a_model_says_what_to_give(folder: Path, tmp_path: Path):
    for place in (tmp_path, folder / "unet", folder / "text_encoder"):
        expect_refusal(
            place, r"it has no model_index\.json: give a folder in diffusers' layout, or a single file"
        )


def test_a_library_s_log_is_left_as_it_was(caplog):
    log = logging.getLogger("heard")
    log.setLevel(logging.ERROR)
    with parts.hear("heard") as said:
        log.warning("it lacks weights")
        log.info("more")
    assert said == ["it lacks weights"]
    assert caplog.messages == []
    assert (log.level, log.propagate, log.handlers) == (logging.ERROR, True, [])
