"""Prompts find images by words, in public arithmetic."""

from collections import Counter

import numpy as np
import pytest

from pcevolve_server.library.captions import Captions, words
from pcevolve_server.library.folder import listing
from pcevolve_server.library.words import WordIndex, drawn, fraction
from support.collections import library

CELLS = [
    *[frozenset({"blood", "smear", "platelet"})] * 4,
    *[frozenset({"blood", "smear", "lymphocyte"})] * 8,
    *[frozenset({"chest", "ray", "x"})] * 12,
]


def share(weights, places):
    return weights[places].sum() / weights.sum()


def test_case_plural_accents_and_small_words_make_no_difference():
    assert words("A photo of the Blood CELLS, École") == words("blood cell e\u0301cole")
    assert words("gas bus 3") == {"gas", "bus", "3"}


def test_the_more_of_a_prompts_words_an_image_has_the_likelier_it_is():
    weights = WordIndex(CELLS).weights("A blood smear image with platelet")
    assert weights[0] == 1 > weights[4] > 0 == weights[12]


def test_guidance_says_how_much_words_matter():
    index = WordIndex(CELLS)
    shares = [share(index.weights("blood smear platelet", "", guidance), slice(4)) for guidance in (0, 4, 50)]
    assert shares[0] == pytest.approx(4 / 12)
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] == pytest.approx(1)


def test_words_that_nobody_knows_fall_back_to_those_of_the_domain():
    index = WordIndex(CELLS)
    assert np.array_equal(index.weights("blood smear with basophil"), index.weights("blood smear"))
    assert share(index.weights("blood smear with basophil"), slice(12)) == 1


@pytest.mark.parametrize("prompt", ["", "a tractor", "the image of"])
def test_a_prompt_of_unknown_words_draws_from_the_whole_library(prompt):
    assert np.array_equal(WordIndex(CELLS).weights(prompt), np.ones(24))


def test_a_word_that_every_image_has_decides_nothing():
    index = WordIndex([each | {"picture1"} for each in CELLS])
    assert np.array_equal(index.weights("picture1"), np.ones(24))
    assert np.array_equal(index.weights("picture1 platelet"), index.weights("platelet"))


def test_a_negative_prompt_makes_its_images_unlikely():
    index = WordIndex(CELLS)
    assert share(index.weights("blood smear", "platelet"), slice(4)) < 0.01


def test_draws_are_in_proportion_to_the_weights():
    counts = Counter(drawn([1, 0, 3], seed) for seed in range(4000))
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.02)


def test_consecutive_seeds_repeat_an_image_only_where_there_are_fewer_than_asked_for():
    for first in (0, 17, 2**32 - 9):
        seeds = [(first + k) % 2**32 for k in range(32)]
        assert len({drawn(np.ones(100), seed) for seed in seeds}) == 32
        assert {drawn(np.ones(8), seed) for seed in seeds} == set(range(8))


def test_every_seed_gives_a_fraction_of_its_own():
    assert 0 < fraction(0) < 1
    assert 0 < fraction(2**32 - 1) < 1
    assert len({fraction(seed) for seed in range(0, 2**32, 2**20 + 1)}) == 2**12


def test_captions_come_from_folders_names_tables_and_text_files(tmp_path):
    root = library(tmp_path, images=2)
    (root / "manifest.csv").write_text(
        "file,label,licence\npainted tile/red/000.png,Glazed,CC0-1.0\n"
        "painted tile/red/001.png,,MIT\nnowhere.png,x,MIT\n"
    )
    blue = root / "painted tile" / "blue"
    (blue / "metadata.jsonl").write_text('{"file_name": "000.png", "text": "a mottled wall"}\n\nno json\n')
    (blue / "001.txt").write_text("Delft ware")
    (blue / "kiln_017.png").write_bytes((blue / "000.png").read_bytes())
    captions = Captions(listing(root))
    own = {"painted", "tile"}
    assert captions.words("painted tile/red/000.png") == own | {"red", "glazed"}
    assert captions.words("painted tile/blue/000.png") == own | {"blue", "mottled", "wall"}
    assert captions.words("painted tile/blue/001.png") == own | {"blue", "delft", "ware"}
    assert captions.words("painted tile/blue/kiln_017.png") == own | {"blue", "kiln"}
    assert captions.licences == (("CC0-1.0", 1), ("MIT", 1))


@pytest.mark.parametrize(
    ("lines", "table"),
    [
        (b"[1, 2]\n", b"file,label\n\xff\xfe,x\n"),
        (b"[" * 200_000, b"file,label\n" + b'"a\nb",' * 2**20),
        (b'{"a":' * 200_000, b"file,label\n" + b"a," * 2**21),
        (b'{"a": "' + b"x" * 2**21, b'file,label\n"' + b"x\n" * 2**20),
        (b'{"file": "x", "n": ' + b"9" * 5_000 + b"}", b"file,label\n\xff"),
    ],
)
def test_a_damaged_table_is_said_in_the_log_and_the_rest_goes_on(tmp_path, caplog, lines, table):
    root = library(tmp_path, images=1)
    (root / "metadata.jsonl").write_bytes(lines)
    (root / "manifest.csv").write_bytes(table)
    captions = Captions(listing(root))
    assert captions.words("painted tile/red/000.png") == {"painted", "tile", "red"}
    assert caplog.text.count("the rest of a table of captions was not read") == 2


@pytest.mark.parametrize(
    ("text", "left_open"),
    [
        ("", 0),
        ("blood smear", 0),
        ("a tractor", 1),
        ("blood with basophil", 0.5),
        ("blood smear with basophils", 1 / 3),
    ],
)
def test_what_words_leave_open_is_the_share_that_no_image_has(text, left_open):
    assert WordIndex(CELLS).left_open(text) == pytest.approx(left_open)


def test_a_word_that_every_image_has_leaves_the_rest_of_the_prompt_as_open_as_it_was():
    index = WordIndex([each | {"scan"} for each in CELLS])
    assert (index.left_open("scan"), index.left_open("scan basophil"), index.left_open("scan blood")) == (
        0,
        1,
        0,
    )
