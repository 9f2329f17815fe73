"""Photographs as training material: what is left out, how captions are worded, how words are added."""

import csv
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

TRAINING = Path(__file__).parents[2] / "api_server" / "training"
COLUMNS = ("file", "domain", "label", "source", "source_path", "licence", "author")


@pytest.fixture(scope="module")
def training():
    """Return a function that imports a training script."""
    sys.path.insert(0, str(TRAINING))
    yield importlib.import_module
    sys.path.remove(str(TRAINING))


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
