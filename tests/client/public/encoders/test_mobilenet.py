"""The MobileNet of the client: the network that was published, and one image at a time."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ModelError
from pcevolve.public.encoders import mobilenet
from pcevolve.public.encoders.joined import load_mobilenet

PUBLISHED = (
    Path(os.environ.get("PCEVOLVE_BENCH_DATA", ""))
    / "weights/mobilenet_v2_imagenet/mobilenet_v2_1.0_224.onnx"
)


def paint(seed: int, side: int) -> Image.Image:
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((side, side))


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="PCEVOLVE_BENCH_DATA names no published weights")
@pytest.mark.parametrize("seed", range(3))
def test_it_sees_what_the_published_network_sees(seed: int):
    onnxruntime = pytest.importorskip("onnxruntime")
    pixels = np.asarray(paint(seed, 224), dtype=np.float32).transpose(2, 0, 1) / 255
    session = onnxruntime.InferenceSession(str(PUBLISHED), providers=["CPUExecutionProvider"])
    (published,) = session.run(["feature1280"], {"rgb_pm1": 2 * pixels[None] - 1})
    own = mobilenet.embed(mobilenet.load_state(), pixels)
    assert np.abs(own - published[0]).max() < 1e-4 < np.abs(published).max()


def test_an_image_is_embedded_as_in_any_company_and_what_is_none_is_nothing():
    encoder, images = load_mobilenet(), [paint(1, 96), None, paint(2, 50)]
    rows = encoder.embed(images)
    assert rows.shape == (3, 1280)
    assert np.isnan(rows[1]).all()
    assert np.array_equal(rows[[2]], encoder.embed(images[2:]))
    assert np.abs(rows[0] - rows[2]).max() > 0.1


def test_images_of_other_sides_are_of_one_size(tmp_path: Path):
    odd = np.random.default_rng(0).random((3, 75, 75), dtype=np.float32)
    assert mobilenet.embed(mobilenet.load_state(), odd).shape == (1280,)
    with pytest.raises(ModelError, match="its weights are not installed"):
        mobilenet.load_state(tmp_path / "none.safetensors")
