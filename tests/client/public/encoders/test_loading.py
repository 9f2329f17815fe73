"""Encoders: real architectures with weights from disk; one record's embedding is its own affair."""

from __future__ import annotations

import importlib.util
import json
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from pcevolve.app.fetching import fetch_encoder
from pcevolve.errors import DataError, ModelError
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.loading import FrozenEncoder
from pcevolve.public.encoders.singly import centre_square, to_array

_PLACE = Path(__file__).parents[4] / "client" / "training" / "network.py"
_SPEC = importlib.util.spec_from_file_location("training_network", _PLACE)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
BundledNet = _MODULE.BundledNet


pytestmark = pytest.mark.models

TINY_CLIP = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 8, "vocab_size": 64, "width": 64, "heads": 1, "layers": 1},
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Several threads take minutes here when the machine is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def picture(seed: int, size=(64, 64)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def save(network: nn.Module, path) -> str:
    torch.save(network.state_dict(), path)
    return str(path)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Random weights on disk, by encoder name."""
    from torchvision import models  # takes seconds, which every worker would pay that looks for tests

    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(0)
    return {
        "bundled": save(BundledNet(), folder / "bundled.pt"),
        "resnet18": save(models.resnet18(), folder / "resnet18.pt"),
    }


@pytest.fixture(scope="module", params=["bundled", "resnet18"])
def encoder(request, weights):
    return load_encoder(request.param, weights[request.param])


@pytest.fixture
def silent(monkeypatch, tmp_path):
    """No cache and no name resolution; what somebody tries to look up."""
    asked = []

    def refuse(host, *args, **kwargs):
        asked.append(host)
        raise socket.gaierror("offline")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return asked


def test_embedding_alone_is_bitwise_the_embedding_in_any_set_at_any_position(encoder):
    record, others = picture(0), [picture(seed) for seed in range(1, 6)]
    alone = encoder.embed([record])[0]
    for position in range(6):
        company = [*others[:position], record, *others[position:5]]
        assert np.array_equal(encoder.embed(company)[position], alone)
    assert not np.array_equal(encoder.embed(others[:1])[0], alone)


def test_every_forward_pass_has_one_shape_however_many_images_there_are():
    shapes = set()

    class Watched(nn.Module):
        def forward(self, pixels):
            shapes.add(tuple(pixels.shape))
            return pixels.mean((2, 3))

    encoder = FrozenEncoder("watched", 3, Watched().eval(), to_array(8), torch.device("cpu"))
    for count in (1, 2, 7):
        encoder.embed([picture(seed, (9, 5)) for seed in range(count)])
    assert shapes == {(1, 3, 8, 8)}


def test_undecodable_candidates_are_nan_and_leave_the_others_alone(encoder, tmp_path):
    picture(3, (64, 64)).save(tmp_path / "cut.png")
    data = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with Image.open(tmp_path / "cut.png") as lazily_broken:
        rows = encoder.embed([None, lazily_broken, picture(0)])
    assert np.isnan(rows[:2]).all()
    assert np.array_equal(rows[2], encoder.embed([picture(0)])[0])


def test_partly_nan_embedding_becomes_nan_throughout():
    class Broken(nn.Module):
        def forward(self, pixels):
            return torch.tensor([[1.0, float("inf")]])

    encoder = FrozenEncoder("broken", 2, Broken().eval(), to_array(8), torch.device("cpu"))
    assert np.isnan(encoder.embed([picture(0)])).all()


@pytest.mark.parametrize(
    ("name", "build", "dimension"),
    [
        ("resnet34", "resnet34", 512),
        ("resnet50", "resnet50", 2048),
        ("inception", "inception_v3", 2048),
        ("vit", "vit_b_16", 768),
    ],
)
def test_torchvision_weights_with_their_heads_load_by_path(tmp_path, name, build, dimension):
    from torchvision import models

    options = {"init_weights": False, "aux_logits": True} if name == "inception" else {}
    encoder = load_encoder(name, save(getattr(models, build)(weights=None, **options), tmp_path / "x.pt"))
    (tmp_path / "x.pt").unlink()  # hundreds of megabytes
    rows = encoder.embed([picture(0), picture(1)])
    assert rows.shape == (2, encoder.dimension) == (2, dimension)
    assert np.isfinite(rows).all()


def test_resnet18_equals_torchvision_with_its_own_preprocessing(weights):
    from torchvision import models

    network = models.resnet18()
    network.load_state_dict(torch.load(weights["resnet18"], weights_only=True))
    network.fc = nn.Identity()
    pixels = models.ResNet18_Weights.IMAGENET1K_V1.transforms()(picture(5, (300, 300)))
    with torch.inference_mode():
        expected = network.eval()(pixels[None])[0].numpy()
    assert np.array_equal(
        load_encoder("resnet18", weights["resnet18"]).embed([picture(5, (300, 300))])[0], expected
    )


def test_clip_loads_by_path_and_equals_open_clip(tmp_path):
    (tmp_path / "tiny.json").write_text(json.dumps(TINY_CLIP))
    import open_clip

    open_clip.add_model_config(tmp_path / "tiny.json")
    model, _, preprocess = open_clip.create_model_and_transforms("tiny")
    encoder = load_encoder("clip:tiny", save(model, tmp_path / "tiny.pt"))
    with torch.inference_mode():
        expected = model.eval().encode_image(preprocess(picture(0))[None], normalize=True)[0].numpy()
    row = encoder.embed([picture(0)])[0]
    assert encoder.dimension == 24
    assert np.allclose(row, expected, atol=1e-6)
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_bundled_network_computes_what_the_one_that_is_trained_computes(tmp_path, seed):
    torch.manual_seed(seed)
    network = BundledNet().eval()
    encoder = load_encoder("bundled", save(network, tmp_path / "x.pt"))
    pixels = to_array(64)(centre_square(picture(seed, (90, 64))))
    with torch.inference_mode():
        expected = network(torch.from_numpy(pixels)[None])[0].numpy()
    found = encoder.embed([picture(seed, (90, 64))])[0]
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["resnet18", "clip", "clip:RN50:openai"])
def test_weights_that_are_not_at_hand_are_named_and_nobody_is_asked_but_by_who_fetches_them(silent, name):
    way = f"weights .+ are not on this machine: run `pcevolve fetch-encoder {name}`"
    with pytest.raises(ModelError, match=way):
        load_encoder(name)
    assert silent == []
    offline = (
        r"weights .+ could not be downloaded from https://.+ \(URLError\): .+ --set encoder.weights=PATH"
    )
    with pytest.raises(ModelError, match=offline):
        fetch_encoder(name)
    assert len(silent) == 1


@pytest.fixture
def threads():
    """Sets the number of torch's threads, until the test is over."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_the_number_of_threads_changes_no_bit_of_an_embedding(encoder, threads):
    records = [picture(seed) for seed in range(4)]
    alone = [encoder.embed([each])[0] for each in records]
    for number in (1, 2, 3):
        threads(number)
        assert np.array_equal(encoder.embed(records), alone)
        assert torch.get_num_threads() == number


def test_a_set_of_images_is_read_one_by_one_and_an_error_in_it_is_raised(encoder):
    class Unreadable(list):
        def __getitem__(self, place):
            raise DataError("private data: c/a.png changed")

    with pytest.raises(DataError, match=r"c/a\.png changed"):
        encoder.embed(Unreadable([None, None]))
