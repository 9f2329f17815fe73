"""Baselines run without a gate, on public data: what they choose is pinned, and what they say of themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.errors import UsageError
from pcevolve.public.fields import IN_PROCESS
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.baselines.gcap import LONGEST, NOTHING_SAID, one_caption
from pcevolve_benchmarks.baselines.places import drawn_places
from pcevolve_benchmarks.baselines.rf import FarFromOthers
from pcevolve_benchmarks.runner import NO_GATE, Result, run, settings_of
from support.neighbours import World, records_of


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
        "api": IN_PROCESS,
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
    found = run(options(name, data, **rounds), tmp_path / "one", Patterns())
    assert found.facts["about"] == NO_GATE == "no gate, no ledger, no record: for public research data only"
    dataset = found.dataset(["cut", "good"])
    assert len(dataset.images) == len(dataset.names) == 8
    assert dataset.targets.tolist() == [0] * 4 + [1] * 4
    assert sorted(each.name for each in (tmp_path / "one").iterdir()) == ["dataset", "run.json"]
    other = run(options(name, data, **rounds), tmp_path / "two", Patterns())
    assert other.facts["rounds"] == found.facts["rounds"]
    assert files(tmp_path / "one") == files(tmp_path / "two")


def files(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*.png")}


def test_what_is_made_is_not_made_again_and_what_was_cut_off_is(data: Path, tmp_path: Path):
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "left over").touch()
    first, again = Patterns(), Patterns()
    run(options("rf", data), tmp_path / "out", first)
    assert run(options("rf", data), tmp_path / "out", again) == Result.load(tmp_path / "out")
    assert first.prompts
    assert again.prompts == []


def test_captions_of_images_are_what_gcap_asks_for(data: Path, tmp_path: Path):
    generator = Patterns()
    run(options("gcap", data), tmp_path / "out", generator)
    assert generator.varied == []
    assert all("mostly" in prompt for prompt in generator.prompts)
    assert generator.prompts[0].startswith("A leather texture image with cut, ")


def test_noised_images_of_the_asked_size_are_what_dpimg_has_varied(data: Path, tmp_path: Path):
    generator = Patterns()
    run(options("dpimg", data), tmp_path / "out", generator)
    assert generator.prompts == []
    assert {image.size for image in generator.varied} == {(32, 32)}
    assert min(np.asarray(image).std() for image in generator.varied) > 100, "noise has drowned everything"


def test_rf_keeps_candidates_that_look_like_no_other_class(data: Path, tmp_path: Path):
    class Alike(Patterns):
        def create(self, prompt: str, seeds: Sequence[int]) -> list[Image.Image]:
            return [_pattern(100 if place else 200) for place, _ in enumerate(seeds)]

    found = run(options("rf", data), tmp_path / "out", Alike())
    chosen = {each["label"]: each["chosen"] for each in found.facts["rounds"][0]["choices"]}
    by_class = {label: {one["digest"] for one in of_class} for label, of_class in chosen.items()}
    assert len(by_class["cut"]) == len(by_class["good"]) == 1
    assert by_class["cut"] != by_class["good"]


def test_rf_rejects_what_is_near_another_class_s_shots_however_near_its_own_are():
    """Its own shot is at 9, the other class's at 10: 8 is nearest to its own, and rejected; 1 and -30 are kept."""
    pool = (8.0, 1.0, 12.0, math.nan, -30.0, 3.0)
    scene = World(pools=(pool, (5.0,) * 6), places=()).scene("replace-one", wanted=2)
    shots = records_of((((9.0, 0),), ((10.0, 1),)))
    selector = FarFromOthers()
    assert selector.pick(selector.measure(shots, scene, (), SeededNoise(1)), scene)[0].tolist() == [1, 4]
    scene = replace(scene, wanted=7)  # what is no image comes in only where nothing else does
    assert selector.pick(selector.measure(shots, scene, (), SeededNoise(1)), scene)[0].tolist() == [
        0,
        1,
        2,
        4,
        5,
        0,
        1,
    ]


def test_every_image_of_le_has_a_prompt_of_its_own(data: Path, tmp_path: Path):
    generator = Patterns()
    run(options("le", data), tmp_path / "out", generator)
    assert len(set(generator.prompts)) == 8


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"method": "pe"}, "there is no baseline 'pe'"),
        ({"method": "dpimg", "iterations": 2}, "varied in one round"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, object], said: str, data: Path, tmp_path: Path):
    with pytest.raises(UsageError, match=said):
        settings_of({**options("rf", data), **more}, tmp_path / "out")


def test_ranks_of_an_image_are_not_what_brings_it_into_a_place():
    targets, units = np.zeros(3, dtype=np.int64), np.array([0, 0, 1])
    drawn = [drawn_places(targets, units, 1, 3, SeededNoise(seed), "0001")[0] for seed in range(60)]
    assert all(sorted(each >= 0) == [False, True, True] for each in drawn), (
        "one image of each unit, and a blank"
    )
    assert {tuple(each) for each in drawn} >= {(-1, 0, 2), (2, 1, -1), (0, -1, 2)}


@pytest.mark.parametrize(
    ("said", "caption"),
    [("a\ncat", "a cat"), ("", NOTHING_SAID), ("\x00\x07", NOTHING_SAID), ("x" * 500, "x" * LONGEST)],
)
def test_a_caption_is_one_line_and_never_empty(said: str, caption: str):
    assert one_caption(said) == caption


def test_run_json_holds_seeds_choices_and_accesses(data: Path, tmp_path: Path):
    found = run(options("pcevolve-gm", data, iterations=2), tmp_path / "out", Patterns())
    assert (found.facts["seed"], found.facts["noise_seed"], found.facts["epsilon"]) == (11, 5, "10")
    assert [each["iteration"] for each in found.facts["rounds"]] == [1, 2]
    (access,) = found.facts["rounds"][0]["accesses"]
    assert (access["mechanism"], access["count"]) == ("gaussian", 2)
    assert found.voter == found.facts["plan"]["encoder"]
    assert found.facts["requests"] == 12
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == found.facts
