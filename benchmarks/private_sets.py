"""Private data of the benchmarks: real images, a fresh draw of shots per seed, the rest held out.

Sets that do not come with a library lie in folders inside the one that the environment variable
``PCEVOLVE_BENCH_DATA`` names; without it they are skipped.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.keeper.private.bundled import load_cells, load_digits
from pcevolve.keeper.private.dataset import PrivateDataset, load_folder
from pcevolve.public.config.data_source import CellsSource, DigitsSource, parse_source
from pcevolve.public.media.images.files import digest_pixels

DATA = "PCEVOLVE_BENCH_DATA"
HELD_OUT = 600  # records at most; an accuracy's standard error is then 2 % at worst
SIDE = 64  # pixels
RESERVED_EVERY = 3
"""Of domains that the bundled models are trained on, files whose number this divides are kept for the benchmarks."""


def available(name: str) -> bool:
    """True if a set's data are here."""
    return _kind(name) in ("digits", "marks", "cells") or DATA in os.environ


@cache
def draw(name: str, shots: int, seed: int) -> tuple[PrivateDataset, PrivateDataset]:
    """The private shots and the held-out records of a seed."""
    if _kind(name) in ("digits", "marks"):
        private, rest = load_digits(shots, _digit_names(_choice(name)), seed)
    elif _kind(name) == "cells":
        source = parse_source(name)
        assert isinstance(source, CellsSource)
        private, rest = load_cells(shots, source.names, seed)
    else:
        private, rest = whole(name).split(shots, seed)
    if len(rest) > HELD_OUT:
        rest = rest.subset(np.random.default_rng(seed).permutation(len(rest))[:HELD_OUT])
    return private, rest


def say_nothing(private: PrivateDataset) -> PrivateDataset:
    """Call classes "type 1", "type 2", so that the private images alone tell them apart."""
    return replace(private, labels=tuple(f"type {place}" for place in range(1, len(private.labels) + 1)))


@cache
def whole(name: str) -> PrivateDataset:
    """All records of a set."""
    if _kind(name) in ("digits", "marks"):
        return _digits(_choice(name))
    names = tuple(_choice(name).split(","))
    return _READERS[_kind(name)](Path(os.environ[DATA]), names)


def _digits(choice: str) -> PrivateDataset:
    private, rest = load_digits(1, _digit_names(choice), 0)
    return _label(
        (image, each.labels[target])
        for each in (private, rest)
        for image, target in zip(each.items, each.targets, strict=True)
        if image is not None
    )


def _digit_names(choice: str) -> Mapping[int, str]:
    source = parse_source(f"digits:{choice}")
    assert isinstance(source, DigitsSource)
    return source.names


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _choice(name: str) -> str:
    return name.partition(":")[2]


def _folder(*parts: str, every: int = 1) -> Callable[[Path, tuple[str, ...]], PrivateDataset]:
    """A reader of class folders that takes the files whose number is divisible by ``every``."""

    def read(root: Path, names: tuple[str, ...]) -> PrivateDataset:
        if every == 1:
            found = load_folder(root.joinpath(*parts), unique=False)
            kept = [index for index, target in enumerate(found.targets) if found.labels[target] in names]
            pairs = [(found.items[k], found.labels[found.targets[k]]) for k in kept]
        else:
            files = [(each, name) for name in names for each in sorted(root.joinpath(*parts, name).iterdir())]
            pairs = [(_open(path), name) for path, name in files if int(path.stem) % every == 0]
        return _label(pairs)

    return read


def _mnist(root: Path, names: tuple[str, ...]) -> PrivateDataset:
    folder = root / "mnist_t10k"
    packed = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())
    scans = np.frombuffer(packed, np.uint8, offset=16).reshape(-1, 28, 28)
    targets = np.frombuffer((folder / "t10k-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
    kept = [k for k in range(len(targets)) if str(targets[k]) in names]
    return _label((_scan(scans[k]), f"digit {targets[k]}") for k in kept)


def _scan(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC).convert("RGB")


def _open(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def _label(pairs: Iterable[tuple[Image.Image, str]]) -> PrivateDataset:
    pictures, names = zip(*pairs, strict=True)
    labels = tuple(sorted(set(names)))
    targets = np.array([labels.index(name) for name in names], dtype=np.int64)
    return PrivateDataset(labels, pictures, targets, tuple(digest_pixels(each) for each in pictures))


_READERS = {
    "mnist": _mnist,
    "steel": _folder("steel_neu"),
    "malaria": _folder("malaria_cells"),
    "xray": _folder("public_images", "chest x-ray", every=RESERVED_EVERY),
    "blood": _folder("public_images", "blood smear", every=RESERVED_EVERY),
    "machine": _folder("public_images", "sa", "machine part surface"),
    "waste": _folder("public_images", "household waste"),
    "leaf": _folder("public_images", "sa", "apple leaf"),
}
