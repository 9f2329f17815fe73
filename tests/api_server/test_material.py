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


def test_every_image_is_64_pixels_square_rgb_and_not_blank(material):
    generator = rng(1)
    for _ in range(100):
        sample = material.draw(generator)
        assert sample.image.size == (64, 64)
        assert sample.image.mode == "RGB"
        assert pixels(sample).std() > 1


def test_every_character_can_be_drawn_without_any_installed_font(material, monkeypatch):
    glyphs = importlib.import_module("material.glyphs")
    monkeypatch.setattr(glyphs, "font_paths", lambda kind, held_out: ())
    for character in material.CHARACTERS:
        assert glyphs.draw_glyph(rng(2), character, held_out=True).facts.label == character


def test_polarity_in_the_facts_agrees_with_the_pixels(material):
    glyphs, generator, agree = importlib.import_module("material.glyphs"), rng(3), 0
    for _ in range(60):
        sample = glyphs.draw_glyph(generator)
        image = pixels(sample).mean(-1)
        rim = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]]).mean()
        agree += (image[8:-8, 8:-8].mean() > rim) == sample.facts.light_on_dark
    assert agree >= 55


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


def test_prompts_name_the_content_except_for_the_meaningless_share(material):
    facts = material.Facts("surface", "leather", "cut", "grey", "grey", False)
    generator = rng(7)
    prompts = [material.describe(facts, generator) for _ in range(1000)]
    assert all(p.names_label == ("cut" in p.text or "slit" in p.text) for p in prompts)
    silent = sum(not p.names_label for p in prompts) / len(prompts)
    assert any(p.text == "A leather texture image with cut defect" for p in prompts)
    assert 0.11 < silent < 0.19


def test_a_meaningless_label_never_depends_on_the_glyph(material):
    prompts_module = importlib.import_module("material.prompts")
    said = []
    for character in "3B":
        facts = material.Facts("glyph", "pen", character, "white", "black", True)
        said.append([prompts_module._meaningless(facts, rng(seed)) for seed in range(200)])
    assert said[0] == said[1]
    assert any("type A" in prompt for prompt in said[0])
