"""The rendered training material: deterministic, honest about itself, and without fonts if need be."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

TRAINING = Path(__file__).parents[2] / "api_server" / "training"


@pytest.fixture(scope="module")
def material():
    sys.path.insert(0, str(TRAINING))
    yield importlib.import_module("material")
    sys.path.remove(str(TRAINING))


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
