"""Photographs as training material: what is left out, how captions are worded, how words are added."""

import csv
import importlib
import json
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


def rng(seed=0):
    return np.random.default_rng(seed)


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


def test_the_split_depends_on_names_alone(training, collection):
    photographs = training("material.photographs")
    found = photographs.read_manifest(collection)
    again = photographs.split(found[::-1])
    assert {p.file for p in photographs.split(found)[1]} == {p.file for p in again[1]}


@pytest.mark.parametrize("domain", ["flower", "chest x-ray", "satellite image"])
def test_a_view_is_64_pixels_square_and_random(training, domain):
    view = training("material.photographs").view
    image = Image.fromarray(rng().integers(0, 255, (90, 120, 3), np.uint8))
    first, again, other = (np.asarray(view(image, domain, rng(seed))) for seed in (1, 1, 2))
    assert first.shape == (64, 64, 3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_chest_x_ray_is_never_mirrored(training):
    view = training("material.photographs").view
    ramp = np.repeat(np.arange(128, dtype=np.uint8)[None, :, None], 128, 0).repeat(3, 2)
    for seed in range(20):
        found = np.asarray(view(Image.fromarray(ramp), "chest x-ray", rng(seed)), np.float32)
        assert found[:, -1].mean() > found[:, 0].mean()


def test_views_are_balanced_over_the_domains_that_are_kept(training, collection, tmp_path):
    domains = ("blood smear", "flower", "wood")
    training("views").write_views(collection, tmp_path / "views", each=20, seed=1, kept=domains)
    images = np.load(tmp_path / "views" / "images.npy")
    labels = json.loads((tmp_path / "views" / "labels.json").read_text())
    assert images.shape == (60, 64, 64, 3)
    assert [sum(entry["domain"] == domain for entry in labels) for domain in domains] == [20] * 3


def test_views_are_balanced_over_the_labels_of_a_domain(training):
    turns = training("views")._turns(["a"] * 9 + ["b"] * 2, 11, rng())
    assert sum(turn >= 9 for turn in turns) == 5
    assert len({turn for turn in turns if turn < 9}) == 6


def test_captions_name_domain_and_label_and_sometimes_neither(training):
    captions = training("material.captions")
    generator = rng(7)
    found = [captions.caption("flower", "rose", generator) for _ in range(2000)]
    texts = [c.text for c in found]
    assert "A flower image with rose" in texts
    assert "rose" in texts  # the label alone
    assert "A flower image" in texts  # the domain alone
    assert any("flower image with type" in text for text in texts)
    assert any("blossom" in text for text in texts)
    assert 0.45 < np.mean([not c.names_label for c in found]) < 0.55
    assert all(("rose" in c.text) == c.names_label for c in found)


def test_a_label_that_says_nothing_by_itself_always_comes_with_its_domain(training):
    captions = training("material.captions")
    generator = rng(8)
    names = captions.WORDS["chest x-ray"].names
    for _ in range(500):
        text = captions.caption("chest x-ray", "normal", generator).text.lower()
        assert any(name in text for name in names)


def test_every_domain_can_be_worded_and_viewed(training):
    captions, view = training("material.captions"), training("material.photographs").view
    image = Image.new("RGB", (70, 61))
    for domain in captions.WORDS:
        assert captions.caption(domain, "something", rng()).text
        assert view(image, domain, rng()).size == (64, 64)


def test_new_words_leave_the_old_tokens_as_they_were(training):
    tokenizer = training("tokenizer")
    old = tokenizer.build_tokenizer(["A printed glyph image with digit 3"] * 100, vocabulary=340)
    new = tokenizer.extend_tokenizer(old, ["A blood smear image with platelet"] * 100, vocabulary=380)
    before = "A printed glyph image with digit 3"
    assert old(before).input_ids == new(before).input_ids
    assert new.tokenize("platelet") == ["platelet</w>"]
    assert len(old.tokenize("platelet")) > 1
    assert len(old) < len(new) <= 380


def test_a_batch_has_the_shares_that_are_asked_for_and_none_of_other_groups(training):
    train_unet = training("train_unet")
    shares = train_unet.read_shares("bird=0.4,flower=0.2, glyph=0.2")
    assert train_unet.group_weights(["bird", "flower", "glyph", "item"], shares) == pytest.approx(
        [0.5, 0.25, 0.25, 0]
    )


def test_a_batch_is_of_what_is_encoded_and_the_shares_are_kept_among_that(training, tmp_path):
    import torch

    train_unet = training("train_unet")
    latents = np.zeros((4, 4, 16, 16), np.float16)
    latents[[0, 2]] = np.array([1, 3], np.float16)[:, None, None, None]  # the photographs, which come first
    np.save(tmp_path / "latents.npy", latents)
    np.save(tmp_path / "tokens.npy", np.ones((4, 4, 24), np.uint16))
    np.save(tmp_path / "named.npy", np.ones((4, 4), bool))
    (tmp_path / "groups.json").write_text(json.dumps(["bird", "drawn", "flower", "glyph"]))

    def shares(size: int) -> list[float]:
        material = train_unet.Material(tmp_path, {"bird": 0.25, "drawn": 0.1, "flower": 0.25, "glyph": 0.4})
        drawn, tokens, named = material.batch(size, torch.zeros(24, dtype=torch.int64), rng(1))
        assert (named == tokens.any(1)).all()  # a dropped prompt names nothing
        return [float((drawn[:, 0, 0, 0] == value).float().mean()) for value in (1, 3, 4)]

    assert shares(900) == pytest.approx([0.5, 0.5, 0], abs=0.06)
    latents[3] = 4
    np.save(tmp_path / "latents.npy", latents)
    assert shares(900) == pytest.approx([0.25 / 0.9, 0.25 / 0.9, 0.4 / 0.9], abs=0.06)
    np.save(tmp_path / "latents.npy", 0 * latents)
    with pytest.raises(SystemExit, match="no row that a batch is made of is encoded yet"):
        shares(1)


def test_the_rate_is_held_and_falls_only_at_the_end_of_the_budget(training):
    rate = training("runs").held_rate
    held = [rate(1.0, spent, budget_s=3600, cool_s=600) for spent in (300, 1800, 3000)]
    assert held == [1.0] * 3
    assert rate(1.0, 3300, 3600, 600) == pytest.approx(0.5)
    assert rate(1.0, 3300, 7200, 600) == 1.0  # a larger budget goes on at full rate
    assert rate(1.0, 0, 3600, 600) < 0.1


def test_distances_are_small_between_like_and_large_between_unlike_features(training):
    import torch

    domains = training("domains")
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(80, 16, generator=draw) for _ in range(2))
    for distance in (domains.kernel_distance, domains.frechet_distance):
        assert abs(distance(a, b)) < 0.1 * distance(a, b + 2)


def test_a_reader_tells_clusters_apart(training):
    import torch

    domains = training("domains")
    draw = torch.Generator().manual_seed(0)
    names = ["x"] * 40 + ["y"] * 40 + ["z"] * 10
    centres = {"x": 0.0, "y": 3.0, "z": -3.0}
    features = torch.stack([torch.randn(8, generator=draw) + centres[n] for n in names])
    reader = domains.fit_reader(features, names)
    assert np.mean([r == n for r, n in zip(reader.read(features), names, strict=True)]) > 0.95
    assert set(reader.read(features, among=("x", "y"))) == {"x", "y"}


def test_what_variations_keep_is_read_before_and_after_and_chance_is_told_apart(training):
    domains = training("domains")

    def vary(prompts, pictures, strength):
        return [picture if strength < 0.5 else "other" for picture in pictures]

    found = domains.kept(vary, ["", ""], ["a", "other"], lambda pictures: pictures)
    assert [found[f"kept at {s}"] for s in (0.3, 0.4, 0.5, 0.6)] == [1, 1, 0.5, 0.5]
    assert [found[f"kept at {s}, kappa"] for s in (0.3, 0.4, 0.5, 0.6)] == [1, 1, 0, 0]


def test_an_effective_number_of_kinds(training):
    effective = training("domains").effective
    assert effective(["a", "b"] * 8) == pytest.approx(2)
    assert effective(["a"] * 8) == pytest.approx(1)


def test_encoding_goes_on_where_it_stopped(training, tmp_path):
    import torch

    class Halves:
        """An encoder that answers with the mean of each quarter of the image, and counts."""

        seen = 0

        def encode(self, batch):
            Halves.seen += len(batch)
            mean = torch.nn.functional.adaptive_avg_pool2d(batch, 16)[:, [0, 1, 2, 0]] + 2
            return type("Answer", (), {"latent_dist": type("Latents", (), {"mean": mean})})

    cache = training("cache_latents")
    parts = [rng(n).integers(0, 255, (5, 64, 64, 3), np.uint8) for n in (1, 2)]
    cache.encode(Halves(), parts, tmp_path, seed=1)
    first = np.load(tmp_path / "latents.npy")
    assert len(cache.missing_rows(first)) == 0
    holes = np.load(tmp_path / "latents.npy", mmap_mode="r+")
    holes[[2, 7]] = 0
    holes.flush()
    cache.encode(Halves(), parts, tmp_path, seed=1)
    assert np.array_equal(np.load(tmp_path / "latents.npy"), first)
    assert Halves.seen == 12
