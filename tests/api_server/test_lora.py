"""LoRA: tiny ones with random weights, as diffusers and most trainers save them."""

import numpy as np
import pytest
import torch

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import Batching, Lora, Precision
from pcevolve_server.work import Recipe, Task
from support.model_zoo import ZOO
from support.tiny_model import load, save_lora, tiny_pipeline

pytestmark = pytest.mark.models

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


def test_two_add_up_in_any_order_and_one_taken_away_again_is_none(drawn, lora):
    first, second = (str(lora("sd15", seed)) for seed in (1, 2))
    both = drawn("sd15", Lora(first), Lora(second))
    assert min(apart(both, drawn("sd15", Lora(each))) for each in (first, second)) > 0.3
    assert np.abs(both - drawn("sd15", Lora(second), Lora(first))).max() <= 1
    assert np.abs(drawn("sd15", Lora(first), Lora(first, -1.0)) - drawn("sd15")).max() <= 1


@pytest.mark.parametrize(("of", "reason"), [("sdxl", "other shapes"), ("flux-dev", "no weights for it")])
def test_one_for_another_model_is_refused(drawn, lora, of, reason):
    with pytest.raises(ModelLoadError, match=f"LoRA .* is not for .*tiny: .*{reason}"):
        drawn("sd15", Lora(str(lora(of))))


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
