"""The training of the bundled models: material that is honest about itself, and what a few-step student is taught."""

import argparse
import csv
import importlib
import json
import sys
from pathlib import Path

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image

pytestmark = pytest.mark.models

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


def test_a_teacher_that_knows_the_image_walks_to_it_in_any_number_of_steps(distil):
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


def test_the_loss_is_nothing_for_a_student_that_does_what_its_teacher_does(distil):
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


@pytest.fixture(scope="module")
def sharpen(training):
    return training("sharpen_unet")


def test_a_student_that_knows_the_image_draws_it_from_noise_and_varies_it_at_any_strength(distil, sharpen):
    schedule, clean = distil.Schedule(), torch.randn(1, 4, 2, 2)
    batch = sharpen.Batch(clean.repeat(2, 1, 1, 1), *[torch.zeros(2, dtype=torch.long)] * 3)
    for seed in range(8):
        drawn = sharpen.draw(
            Straight(schedule, clean), schedule, batch, torch.zeros(2, 3, 2), STEPS, rng(seed)
        )
        assert torch.allclose(drawn, clean.expand_as(drawn), atol=0.1)


def test_a_kind_that_was_drawn_too_often_costs_more_than_one_that_was_not_and_other_groups_do_not_count(
    sharpen,
):
    variety = sharpen.Variety(torch.tensor([[True, True, False], [False, False, True]]))
    any_of_first, first, second = torch.full((4,), 3), torch.tensor([9.0, 0, 50]), torch.tensor([0, 9.0, 50])
    for _ in range(30):
        variety.loss(first.repeat(4, 1), any_of_first)
    assert variety.shares[0, 0] > 0.85
    assert variety.shares[0, 2] == 0
    assert variety.loss(second[None], any_of_first[:1]) < variety.loss(first[None], any_of_first[:1]) - 1


def test_kinds_that_no_prompt_names_are_not_taught(sharpen):
    logits = torch.tensor([[9.0, 0], [0, 9.0]], requires_grad=True)
    assert (
        sharpen.kind_loss(logits, torch.tensor([0, 2]))
        < 0.01
        < 5
        < sharpen.kind_loss(logits, torch.tensor([1, 2]))
    )
    assert sharpen.kind_loss(logits, torch.tensor([2, 2])) == 0


def _make_cache(folder, names, per_part):
    """Images whose brightness is their row, in two folders, and latents that say the same."""
    folders, row = [], 0
    for part, count in enumerate(per_part):
        own = folder / f"part{part}"
        own.mkdir()
        rows = np.arange(row, row + count, dtype=np.uint8)
        np.save(own / "images.npy", np.broadcast_to(rows[:, None, None, None], (count, 64, 64, 3)))
        (own / "labels.json").write_text(
            json.dumps([{"label": f"kind {each % 2}"} for each in rows.tolist()])
        )
        folders.append(own)
        row += count
    latents = np.broadcast_to(np.arange(row, dtype=np.float16)[:, None, None, None], (row, 4, 16, 16))
    np.save(folder / "latents.npy", latents)
    np.save(folder / "tokens.npy", np.zeros((row, 2, 24), np.uint16))
    np.save(folder / "named.npy", np.broadcast_to(np.array([True, False]), (row, 2)))
    (folder / "groups.json").write_text(json.dumps(names))
    return folders


def test_a_cached_latent_is_that_of_its_image_and_kind_in_whichever_folder_it_is(training, sharpen, tmp_path):
    folders = _make_cache(tmp_path, ["glyph"] * 3 + ["chest x-ray"] * 4, [3, 4])
    shares = {"glyph": 0.5, "chest x-ray": 0.5}
    images, latents = training("sharpen_vae").Pairs(tmp_path, folders).batch(64, shares, rng())
    assert np.array_equal(((images + 1) * 127.5).round()[:, 0, 0, 0], latents[:, 0, 0, 0])
    collection = sharpen.Collection(tmp_path, folders)
    batch = collection.batch(64, shares, rng())
    for row, kind, asked in zip(
        batch.latents[:, 0, 0, 0].int().tolist(), batch.kinds.tolist(), batch.asked.tolist(), strict=True
    ):
        group = "glyph" if row < 3 else "chest x-ray"
        assert collection.kinds[kind] == f"{group}|kind {row % 2}"
        assert asked in (kind, len(collection.kinds) + collection.groups.index(group))
    assert {(batch.kinds == batch.asked).any().item(), (batch.kinds != batch.asked).any().item()} == {True}


def test_what_the_discriminator_says_moves_the_last_layer_as_much_as_the_errors(training):
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    error, other = (3 * weight).sum(), (0.5 * weight).sum()
    by = training("sharpen_vae").balance(error, other, weight)
    (mine,) = torch.autograd.grad(by * other, weight)
    assert torch.allclose(mine, torch.tensor([3.0, 3.0]), rtol=1e-3)


def test_a_reader_that_calls_all_the_same_may_still_rank_them_rightly(training):
    rank, asked = training("domains").rank, ["a", "a", "b", "b"]
    always_b = torch.tensor([[0.0, 5], [0, 6], [0, 8], [0, 9]])
    assert rank(always_b, ["a", "b"], asked) == 1
    assert rank(always_b, ["a", "b"], ["a", "b", "a", "b"]) == 0.75
    assert rank(always_b, ["a", "b"], asked[::-1]) == 0


@pytest.fixture
def bundled():
    return diffusers.StableDiffusionPipeline.from_pretrained(
        TRAINING.parent / "src" / "pcevolve_server" / "bundled", local_files_only=True
    )


def test_words_that_another_domain_has_or_that_are_torn_are_not_moved(training, bundled):
    find_rows = training("balance_words").find_rows
    assert len(set(find_rows(bundled.tokenizer, ["chest", "ray"], ["a blood smear"]))) == 2
    with pytest.raises(ValueError, match="also in prompts of other domains: x"):
        find_rows(bundled.tokenizer, ["ray", "x"], ["letter x"])
    with pytest.raises(ValueError, match="not a token of its own: tomography"):
        find_rows(bundled.tokenizer, ["tomography"], [])


def test_a_moved_word_brings_names_without_meaning_nearer_to_the_rare_label_and_leaves_other_prompts(
    training, bundled
):
    def read(prompts):
        tokens = bundled.tokenizer(
            prompts, padding="max_length", max_length=24, return_tensors="pt"
        ).input_ids
        with torch.no_grad():
            hidden = bundled.text_encoder(tokens).last_hidden_state
            return hidden, bundled.unet.add_embedding(hidden)

    named, unnamed = ["a chest x-ray with normal"], ["a chest x-ray with type B", "a chest x-ray with qua"]
    other, asked = ["A blood smear image with type B"], ["a chest x-ray with pneumonia"]
    before = [read(each) for each in (named, unnamed, other, asked)]
    balance_words = training("balance_words")
    rows = balance_words.find_rows(bundled.tokenizer, ["chest", "ray"], other)
    prompts = {"rare": named, "named": named + asked, "unnamed": unnamed}
    left = balance_words.balance(bundled, rows, prompts, argparse.Namespace(toward=0.5, steps=150, lr=5e-3))
    after = [read(each) for each in (named, unnamed, other, asked)]
    assert left < 0.8
    assert torch.equal(after[2][0], before[2][0])
    to_rare = [(pooled - before[0][1]).square().sum(1) for _, pooled in (before[1], after[1])]
    assert (to_rare[1] < 0.9 * to_rare[0]).all()
    moved = (after[1][1] - before[1][1]).square().mean()
    assert (after[3][1] - before[3][1]).square().mean() < moved / 3
