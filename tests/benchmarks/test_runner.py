"""Baselines run without a gate, on public data: what they choose is pinned, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.in_process import InProcess
from pcevolve_benchmarks.runner import NO_GATE, run


class Patterns:
    """A generator in this process: coarse patterns from seeds; remembers what it was handed."""

    size = (32, 32)

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.varied: list[Image.Image] = []

    def create(self, prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
        self.prompts.append(prompt)
        return [_pattern(seed) for seed in seeds]

    def vary(
        self, image: Image.Image, prompt: str, strength: float, seeds: Sequence[int]
    ) -> list[Image.Image]:
        self.varied.append(image)
        return [Image.blend(image, _pattern(seed).resize(image.size), strength) for seed in seeds]


def _pattern(seed: int) -> Image.Image:
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8, 3))
    return Image.fromarray(np.kron(coarse, np.ones((4, 4, 1))).astype(np.uint8))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("public")
    for label, first in (("cut", 100), ("good", 200)):
        (root / label).mkdir()
        for number in range(4):
            _pattern(first + number).save(root / label / f"{number}.png")
    return root


def options(name: str, data: Path, **more: object) -> dict[str, object]:
    return {
        "method": name,
        "private": str(data),
        "domain": "leather texture",
        "api": "http://127.0.0.1:9",
        "model": "Patterns",
        "encoder": "bundled",
        "shots": 4,
        "candidates": 4,
        "batch": 2,
        "seed": 11,
        "insecure_noise_seed": 5,
        **more,
    }


IMAGES = sorted(set(BASELINES) - {"secpe-as-noted"})


@pytest.mark.parametrize("name", IMAGES)
def test_a_baseline_makes_its_dataset_says_that_it_has_no_gate_and_makes_the_same_again(
    name: str, data: Path, tmp_path: Path
):
    rounds = {"iterations": 1} if BASELINES[name].evolves else {}
    found = run(options(name, data, **rounds), tmp_path / "one", InProcess(Patterns(), "Patterns"))
    assert found.facts["about"] == NO_GATE == "no gate, no ledger, no record: for public research data only"
    dataset = found.dataset(["cut", "good"])
    assert len(dataset.images) == len(dataset.names) == 8
    assert dataset.targets.tolist() == [0] * 4 + [1] * 4
    assert sorted(each.name for each in (tmp_path / "one").iterdir()) == ["dataset", "run.json"]
    other = run(options(name, data, **rounds), tmp_path / "two", InProcess(Patterns(), "Patterns"))
    assert other.facts["rounds"] == found.facts["rounds"]
    assert files(tmp_path / "one") == files(tmp_path / "two")


def files(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*.png")}
