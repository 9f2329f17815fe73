"""Judges of a dataset: classifiers trained on it and tested on held-out real images.

A judge that looks at images as the selector did has *voted*: what flattered the selector flatters it. The others are
encoders that took no part (published weights in the folder ``weights`` inside the one that ``PCEVOLVE_BENCH_DATA``
names, or in torchvision's cache) with a linear head each, and a small network that is trained from scratch on pixels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.private_sets import DATA
from pcevolve.keeper.evaluation.heads import CNN_SIDE, Training, train_cnn, train_linear
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.published import PREFERRED, is_fetched
from pcevolve.public.encoders.singly import centre_square, pixel_array
from pcevolve_shared.quiet import keep_quiet

Pictures = Sequence[Image.Image | None]
Look = Callable[[Pictures], np.ndarray]
"""Images to numbers, float ``(images, ...)``."""
CNN = "cnn"
BATCH = 32
CAFFE_MEAN = np.array((103.939, 116.779, 123.68), dtype=np.float32)  # blue, green, red
GREY = Image.new("RGB", (CNN_SIDE, CNN_SIDE), (128, 128, 128))


@dataclass(frozen=True)
class Verdict:
    """Accuracy of one judge on held-out real images.

    Attributes:
        judge: Its name.
        voted: Whether it sees images as the selector did.
        accuracy: 0 to 1.
    """

    judge: str
    voted: bool
    accuracy: float


@cache
def judges(voter: str) -> dict[str, Look]:
    """All judges that are at hand; the voter is among them, to be named beside the others."""
    found: dict[str, Look] = {voter: load_encoder(voter).embed, CNN: _pixels}
    found |= {name: look for name in ONNX if name != voter and (look := load_onnx(name)) is not None}
    for name in PREFERRED:
        if name != voter and is_fetched(name):
            found[name] = _load_published(name)
    return found


def judge(
    name: str,
    made: np.ndarray,
    targets: np.ndarray,
    real: np.ndarray,
    truth: np.ndarray,
    seed: int,
) -> float:
    """Accuracy on real images of what is trained on made ones; both are given as the judge sees them."""
    training = Training(made, targets, int(max(targets.max(), truth.max())) + 1)
    train = train_cnn if name == CNN else train_linear
    return float((train(training, seed)(real) == truth).mean())


def _pixels(pictures: Pictures) -> np.ndarray:
    return pixel_array([each or GREY for each in pictures], CNN_SIDE)


def _mobilenet(square: Image.Image) -> np.ndarray:
    return _resize(square, 224) / 127.5 - 1


def _squeezenet(square: Image.Image) -> np.ndarray:
    return _resize(square, 227)[..., ::-1] - CAFFE_MEAN


def _resize(square: Image.Image, side: int) -> np.ndarray:
    return np.asarray(square.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float32)


ONNX = {
    "mobilenet": ("mobilenet_v2_imagenet/mobilenet_v2_1.0_224.onnx", _mobilenet, "feature1280"),
    "squeezenet": ("squeezenet/squeezenet_v1.1_imagenet_notop.onnx", _squeezenet, "feature512"),
}
"""By name: file, preprocessing of a square image to float32 ``(side, side, 3)``, and which output is taken."""


@cache
def load_onnx(name: str) -> Look | None:
    """An encoder of ``ONNX``, one image at a time; None where its weights are not at hand."""
    file, prepare, output = ONNX[name]
    path = Path(os.environ.get(DATA, "")) / "weights" / file
    if DATA not in os.environ or not path.is_file():
        return None
    keep_quiet()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0].name

    def look(pictures: Pictures) -> np.ndarray:
        batches = [pictures[start : start + BATCH] for start in range(0, len(pictures), BATCH)]
        shown = (
            [prepare(centre_square(each or GREY)).transpose(2, 0, 1) for each in batch] for batch in batches
        )
        return np.concatenate(
            [session.run([output], {entry: np.ascontiguousarray(np.stack(each))})[0] for each in shown]
        )

    return look


@cache
def _load_published(name: str) -> Look:
    return load_encoder(name).embed
