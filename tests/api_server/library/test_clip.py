"""A library whose prompts are read by a text-image model: the real code of open_clip, with random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library import clip
from pcevolve_server.library.words import quantize
from pcevolve_server.model_settings import ModelSettings
from support.collections import COLOURS, pixels

CONFIG = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 1, "layers": 1},
}
"""The vocabulary is that of open_clip's own tokenizer."""


def tiny_clip(folder: Path, seed: int = 0) -> Path:
    """Save one."""
    folder.mkdir(parents=True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = open_clip.CLIP(**CONFIG)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG, "preprocess_cfg": {}}))
    save_file(network.state_dict(), folder / "open_clip_model.safetensors")
    return folder


pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    return tiny_clip(tmp_path_factory.mktemp("clip") / "tiny")


def test_images_and_texts_are_embedded_as_open_clip_does(weights):
    network, prepare = open_clip.create_model_from_pretrained(f"local-dir:{weights}")
    model = clip.load(ModelSettings(library_clip=str(weights), device="cpu", threads=1))
    image = Image.fromarray(pixels(COLOURS["red"], 3, side=80))
    with torch.inference_mode():
        seen = network.eval().encode_image(prepare(image)[None], normalize=True)[0].numpy()
        tokens = open_clip.get_tokenizer(f"local-dir:{weights}")(["a red tile"])
        read = network.encode_text(tokens, normalize=True)[0].numpy()
    assert np.array_equal(model.embed(image), quantize(seen))
    assert np.allclose(model.read("a red tile"), read, atol=1e-6)
    assert model.size == 24


def test_what_the_model_sees_is_indexed_once_and_of_other_weights_anew(
    root, loaded, weights, tmp_path, monkeypatch
):
    def embed(folder):
        seen = []
        real = clip.Clip.embed
        monkeypatch.setattr(clip.Clip, "embed", lambda self, image: seen.append(image) or real(self, image))
        loaded(root, library_clip=str(folder))
        monkeypatch.undo()
        return len(seen)

    assert embed(weights) == 18
    assert embed(weights) == 0
    Image.fromarray(pixels((9, 9, 9), 1)).save(root / "new.png")
    assert embed(weights) > 0
    assert embed(tiny_clip(tmp_path / "other", seed=1)) == 19


def test_a_library_that_changes_between_its_two_indexes_is_not_served(root, loaded, weights, monkeypatch):
    real = clip.load

    def meddling(settings):
        path = next(root.rglob("*.png"))
        Image.fromarray(pixels((9, 9, 9), 1)).save(path)
        return real(settings)

    monkeypatch.setattr(clip, "load", meddling)
    with pytest.raises(
        ModelLoadError, match="the library changed while it was being indexed: start the server again"
    ):
        loaded(root, library_clip=str(weights))


def test_a_directory_without_a_model_and_pickled_weights_are_refused(root, loaded, weights, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        ModelLoadError, match=r"cannot load the text-image model .*no weights \*\.safetensors"
    ):
        loaded(root, library_clip=str(tmp_path / "empty"))
    pickled = shutil.copytree(weights, tmp_path / "pickled")
    network, _ = open_clip.create_model_from_pretrained(f"local-dir:{weights}")
    (pickled / "open_clip_model.safetensors").unlink()
    torch.save(network.state_dict(), pickled / "open_clip_pytorch_model.bin")
    with pytest.raises(ModelLoadError, match=r"no weights \*\.safetensors"):
        loaded(root, library_clip=str(pickled))
    allowed = loaded(root, library_clip=str(pickled), allow_pickle=True)
    assert allowed.memory > loaded(root).memory
