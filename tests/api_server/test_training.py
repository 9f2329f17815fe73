"""The training of the bundled models: material that is honest about itself, and what a few-step student is taught."""

import csv
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

TRAINING = Path(__file__).parents[2] / "api_server" / "training"


COLUMNS = ("file", "domain", "label", "source", "source_path", "licence", "author")
STEPS = 4


@pytest.fixture(scope="module")
def training():
    """Return a function that imports a training script."""
    sys.path.insert(0, str(TRAINING))
    yield importlib.import_module
    sys.path.remove(str(TRAINING))


@pytest.fixture(scope="module")
def material(training):
    return training("material")


def rng(seed=0):
    return np.random.default_rng(seed)


def pixels(sample):
    return np.asarray(sample.image, np.float32)


def test_the_same_seed_renders_the_same_images(material):
    first, second, other = rng(4), rng(4), rng(5)
    for _ in range(20):
        sample, again = material.draw(first), material.draw(second)
        assert sample.facts == again.facts
        assert np.array_equal(pixels(sample), pixels(again))
    assert not np.array_equal(pixels(sample), pixels(material.draw(other)))


@pytest.mark.parametrize("family", ["surfaces", "items"])
def test_every_defect_and_item_looks_different_from_the_plain_thing(material, family):
    if family == "surfaces":
        draw = importlib.import_module("material.surfaces").draw_surface
        plain, others = "good", material.DEFECTS[1:]
    else:
        draw = importlib.import_module("material.items").draw_item
        plain, others = material.ITEMS[0], material.ITEMS[1:]
    for label in others:
        kind = ("leather", label) if family == "surfaces" else (label,)
        base = ("leather", plain) if family == "surfaces" else (plain,)
        assert np.abs(pixels(draw(rng(6), *kind)) - pixels(draw(rng(6), *base))).max() > 20


@pytest.fixture
def collection(tmp_path):
    """Return a folder of small images with a manifest: crops of few originals, and reserved ones."""
    rows = [
        *[("flower", "rose", n, f"flowers/{n}.jpg") for n in range(1, 31)],
        *[("blood smear", "platelet", n, f"slides/{n % 7}.jpg#crop{n}") for n in range(1, 31)],
        *[("wood", "planks", n, f"previews/Wood.webp#r{n}c0") for n in range(1, 11)],
        *[("household waste", "paper", n, f"waste/{n}.jpg") for n in range(1, 4)],
        *[("sa/apple leaf", "rust", n, f"leaf/{n}.jpg") for n in range(1, 4)],
    ]
    colours = np.random.default_rng(0)
    with (tmp_path / "manifest.csv").open("w", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(COLUMNS)
        for domain, label, number, path in rows:
            file = f"{domain}/{label}/{number:04}.jpg"
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(colours.integers(0, 255, (80, 100, 3), np.uint8)).save(tmp_path / file)
            lines.writerow((file, domain, label, "https://example.org/x", path, "CC0", "nobody"))
    return tmp_path


def test_reserved_photographs_are_never_read(training, collection):
    found = training("material.photographs").read_manifest(collection)
    assert {p.domain for p in found} == {"flower", "blood smear", "wood"}
    assert not any(int(Path(p.file).stem) % 3 == 0 for p in found if p.domain == "blood smear")
    assert sum(p.domain == "flower" for p in found) == 30


def test_a_tenth_of_each_domain_is_held_back_and_crops_of_one_original_stay_together(training, collection):
    photographs = training("material.photographs")
    kept, held = photographs.split(photographs.read_manifest(collection))
    assert not {p.original for p in kept} & {p.original for p in held}
    assert not {p.file for p in kept} & {p.file for p in held}
    assert sum(p.domain == "flower" for p in held) == 3
    assert sum(p.domain == "wood" for p in held) == 1  # different materials on one sheet are originals
    assert {p.domain for p in held} == {"flower", "blood smear", "wood"}


def test_new_words_leave_the_old_tokens_as_they_were(training):
    tokenizer = training("tokenizer")
    old = tokenizer.build_tokenizer(["A printed glyph image with digit 3"] * 100, vocabulary=340)
    new = tokenizer.extend_tokenizer(old, ["A blood smear image with platelet"] * 100, vocabulary=380)
    before = "A printed glyph image with digit 3"
    assert old(before).input_ids == new(before).input_ids
    assert new.tokenize("platelet") == ["platelet</w>"]
    assert len(old.tokenize("platelet")) > 1
    assert len(old) < len(new) <= 380


@pytest.fixture(scope="module")
def distil(training):
    return training("distil_unet")


class Straight:
    """A denoiser whose velocities are those of one clean image, whatever the words; guidance changes nothing."""

    def __init__(self, schedule, clean):
        self.schedule, self.clean = schedule, clean

    def __call__(self, state, at, words):
        signal, noise = self.schedule.parts(at)
        velocity = (signal * state - self.clean) / noise
        return type("Output", (), {"sample": velocity})


@pytest.mark.models
def test_a_teacher_that_knows_the_image_walks_to_it_in_any_number_of_steps(distil):
    import torch

    schedule, clean = distil.Schedule(), torch.randn(1, 4, 2, 2)
    teacher = distil.Teacher(Straight(schedule, clean), torch.zeros(1, 3, 2))
    asked = distil.Asked(torch.zeros(2, 3, 2), torch.full((2,), 5.0))
    state = schedule.noised(clean.repeat(2, 1, 1, 1), torch.tensor([999, 600]))
    ends = [
        teacher.walk(schedule, state, asked, torch.tensor([999, 600]), torch.tensor([-1, -1]), count)
        for count in (1, 3)
    ]
    for end in ends:
        assert torch.allclose(end, clean.expand_as(end), atol=1e-2)


@pytest.mark.models
def test_the_loss_is_nothing_for_a_student_that_does_what_its_teacher_does(distil):
    import torch

    schedule, clean = distil.Schedule(), torch.randn(1, 4, 2, 2)
    unguided = Straight(schedule, clean)
    teacher = distil.Teacher(unguided, torch.zeros(1, 3, 2))
    asked = distil.Asked(torch.zeros(16, 3, 2), torch.full((16,), 5.0))
    args = type("Arguments", (), {"steps": STEPS, "substeps": 3})
    batch = clean.repeat(16, 1, 1, 1)
    loss = distil.loss_of(unguided, teacher, batch, asked, args, np.random.default_rng(0))
    wrong = Straight(schedule, clean + 1)
    other = distil.loss_of(wrong, teacher, batch, asked, args, np.random.default_rng(0))
    assert loss < 1e-4 < 0.5 < other
