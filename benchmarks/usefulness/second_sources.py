"""What the datasets of the second look are made of: the images that each kind of provider hands out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.judges import Pictures
from benchmarks.private_sets import DATA, SIDE, say_nothing, whole
from benchmarks.release.data import PER_CLASS, RealSet, draw_candidates
from benchmarks.release.seen import CANDIDATES
from benchmarks.split import SETS
from benchmarks.usefulness.__main__ import other_domain, paint_noise
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.loop.evolution import Ask
from pcevolve.public.release import Candidate
from pcevolve_shared import images as wire

APART = ("few", "half", "textures", "objects")
"""Sources that had no say in the bound of *not useful*."""
SOURCES = ("real", "quarter", "bundled", "other", "swapped", "noise", *APART)
ASKED = 80
"""Candidates of each class, as runs ask for them."""
OF_SET = {"few": 4, "quarter": 20, "half": 40}
"""Of ``ASKED`` of each class, images of the set; the others are of another one."""
ALIEN = ("other", "swapped", "noise", "textures", "objects")
"""Sources without an image of the domain."""
FOLDERS = {
    "textures": [f"dtd_textures/{name}" for name in ("banded", "braided", "bubbly", "bumpy", "crystalline")],
    "objects": [f"public_images/{name}" for name in ("bird", "clothing", "flower", "fruit", "vegetable")],
}
"""A folder for each class, in turn."""
TESTED = 200
Pool = list[Image.Image]


@dataclass
class FromPools:
    """The generator of one run: hands out images of each class's pool in turn, whatever it is asked."""

    pools: dict[str, Iterator[Image.Image]]
    made: dict[str, Image.Image] = field(default_factory=dict)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Name candidates; here their ids stand for their digests."""
        for call, _ in asks:
            names = [call.output(place) for place in range(call.count)]
            self.made.update({name: next(self.pools[call.label]) for name in names})
            yield tuple(Candidate(name, call.label, call.iteration, None, name) for name in names)

    def received(self, digest: str) -> bytes:
        """A picture."""
        return _encode(self.made[digest])


_ENCODED: dict[int, tuple[Image.Image, bytes]] = {}
"""By identity: the image, which keeps its number for as long as it is here, and its bytes."""


def _encode(image: Image.Image) -> bytes:
    if id(image) not in _ENCODED:
        _ENCODED[id(image)] = image, wire.encode(image)
    return _ENCODED[id(image)][1]


@cache
def read_set(name: str) -> PrivateDataset:
    """One set; of each class at most ``PER_CLASS`` images, the same in every run; names say nothing."""
    records = whole(name)
    random, classes = np.random.default_rng(0), range(len(records.labels))
    kept = [random.permutation(np.flatnonzero(records.targets == each))[:PER_CLASS] for each in classes]
    return say_nothing(records.subset(np.concatenate(kept)))


@dataclass(frozen=True)
class Draw:
    """Shots, images that a provider may have, and those that are tested on, of one set and seed."""

    shots: PrivateDataset
    free: PrivateDataset
    test: PrivateDataset

    @classmethod
    def of(cls, name: str, shots: int, seed: int) -> Draw:
        """Draw; nobody has two of the three."""
        here, random = read_set(name), np.random.default_rng([seed, shots])
        classes = range(len(here.labels))
        own = np.concatenate(
            [random.permutation(np.flatnonzero(here.targets == each))[:shots] for each in classes]
        )
        rest = random.permutation(np.delete(np.arange(len(here)), own))
        free, test = np.array_split(rest, 2)
        return cls(here.subset(own), here.subset(free), here.subset(test[:TESTED]))


def fill_pools(
    source: str, name: str, free: PrivateDataset, random: np.random.Generator, folder: Path
) -> list[Pool]:
    """Images of each class, in the order in which they are handed out."""
    classes = range(len(free.labels))
    if source == "noise":
        return [_shuffle(_paint(), random) for _ in classes]
    if source in FOLDERS:
        folders = [_read_folder(each) for each in FOLDERS[source]]
        return [_shuffle(folders[k % len(folders)], random) for k in classes]
    if source == "bundled":
        about = RealSet([], np.zeros(0), SETS[name].domain, whole(name).labels)
        return draw_candidates(about, CANDIDATES, folder)
    if source == "real":
        return [_shuffle(free.items, random) for _ in classes]
    other = read_set(other_domain(name))
    if source == "swapped":
        kinds = len(other.labels)
        return [
            _shuffle(other.subset(np.flatnonzero(other.targets == k % kinds)).items, random) for k in classes
        ]
    if source == "other":
        return [_shuffle(other.items, random) for _ in classes]
    own = OF_SET[source]
    mixed = [
        _shuffle(free.items, random)[:own] + _shuffle(other.items, random)[: ASKED - own] for _ in classes
    ]
    return [_shuffle(each, random) for each in mixed]


def _shuffle(items: Pictures, random: np.random.Generator) -> Pool:
    return [each for k in random.permutation(len(items)) if (each := items[k]) is not None]


@cache
def _read_folder(name: str) -> Pool:
    """Images of a folder and of those in it, small."""
    files = sorted(path for path in Path(os.environ[DATA], name).rglob("*") if path.is_file())[:ASKED]
    return [Image.open(path).convert("RGB").resize((SIDE, SIDE)) for path in files]


@cache
def _paint() -> Pool:
    return list(paint_noise(300))
