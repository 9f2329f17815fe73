"""The private data of the benchmark: real images, a fresh draw of shots per seed, the rest held out.

``digits:3,5,8``: scikit-learn's handwritten digits, under names that the prompt can use. ``marks:3=type A,8=type B``:
the same under names that say nothing, so that selection has to supply the class. ``mnist:3,5,8`` and
``steel:crazing,patches`` read folders of real data inside the one that the environment variable
``PCEVOLVE_BENCH_DATA`` names; without it they are skipped.
"""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
from grid import DATA
from PIL import Image

from pcevolve.modality.images.files import pixel_digest
from pcevolve.private.dataset import PrivateDataset, load_folder
from pcevolve.private.digits import load_digits
from pcevolve.private.sources import DigitsSource, parse_source

DOMAINS = {
    "digits": "handwritten digit",
    "marks": "handwritten mark",
    "mnist": "handwritten digit",
    "steel": "steel surface",
}
HELD_OUT = 600  # records at most; an accuracy's standard error is then 2 % at worst
SIDE = 64  # pixels


@cache
def drawn(world: str, shots: int, seed: int) -> tuple[PrivateDataset, PrivateDataset]:
    """The private shots and the held-out records of a seed."""
    kind, _, choice = world.partition(":")
    if kind in ("digits", "marks"):
        source = parse_source(f"digits:{choice}")
        assert isinstance(source, DigitsSource)
        private, rest = load_digits(shots, source.names, seed)
    else:
        private, rest = _folder(kind, choice).split(shots, seed)
    if len(rest) > HELD_OUT:
        rest = rest.subset(np.random.default_rng(seed).permutation(len(rest))[:HELD_OUT])
    return private, rest


@cache
def _folder(kind: str, choice: str) -> PrivateDataset:
    root = Path(os.environ[DATA])
    names = choice.split(",")
    if kind == "mnist":
        return _mnist(root / "mnist_t10k", names)
    whole = load_folder(root / "steel_neu", unique=False)
    kept = [index for index, target in enumerate(whole.targets) if whole.labels[target] in names]
    return _relabelled([whole.images[k] for k in kept], [whole.labels[whole.targets[k]] for k in kept])


def _mnist(folder: Path, names: list[str]) -> PrivateDataset:
    pixels = np.frombuffer(
        gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16
    )
    targets = np.frombuffer((folder / "t10k-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
    kept = [k for k in range(len(targets)) if str(targets[k]) in names]
    scans = pixels.reshape(-1, 28, 28)
    shown = [
        Image.fromarray(scans[k]).resize((SIDE, SIDE), Image.Resampling.BICUBIC).convert("RGB") for k in kept
    ]
    return _relabelled(shown, [f"digit {targets[k]}" for k in kept])


def _relabelled(pictures: list[Image.Image], names: list[str]) -> PrivateDataset:
    labels = tuple(sorted(set(names)))
    targets = np.array([labels.index(name) for name in names], dtype=np.int64)
    return PrivateDataset(labels, tuple(pictures), targets, tuple(pixel_digest(each) for each in pictures))
