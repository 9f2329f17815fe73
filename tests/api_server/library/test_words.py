"""Prompts find images by words, in public arithmetic; and by what a text-image model sees where words leave it open."""

from collections import Counter

import numpy as np
import pytest

from pcevolve_server.library.captions import Captions
from pcevolve_server.library.folder import list_images
from pcevolve_server.library.words import Likeness, WordIndex, draw, quantize
from support.collections import library


def test_draws_are_in_proportion_to_the_weights():
    counts = Counter(draw([1, 0, 3], seed) for seed in range(4000))
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.02)


def test_consecutive_seeds_repeat_an_image_only_where_there_are_fewer_than_asked_for():
    for first in (0, 17, 2**32 - 9):
        seeds = [(first + k) % 2**32 for k in range(32)]
        assert len({draw(np.ones(100), seed) for seed in seeds}) == 32
        assert {draw(np.ones(8), seed) for seed in seeds} == set(range(8))


def test_an_image_weighs_by_the_share_of_a_prompt_s_rarer_words_that_it_has_less_that_of_the_negative_prompt():
    index = WordIndex(map(frozenset, [("tile", "red"), ("tile", "red", "old"), ("tile", "blue"), ("tile",)]))
    red, old = np.log(4 / 2), np.log(4 / 1)  # all have "tile", so that it decides nothing
    half = np.exp(3 * (red / (red + old) - 1))
    assert index.weights("a red old tile", guidance=3) == pytest.approx([half, 1, 0, 0])
    assert index.weights("a red tile", "old", guidance=3) == pytest.approx([1, np.exp(-3), 0, 0])
    assert index.weights("a tile of nobody").tolist() == [1, 1, 1, 1]


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
    captions = Captions(list_images(root))
    own = {"painted", "tile"}
    assert captions.words("painted tile/red/000.png") == own | {"red", "glazed"}
    assert captions.words("painted tile/blue/000.png") == own | {"blue", "mottled", "wall"}
    assert captions.words("painted tile/blue/001.png") == own | {"blue", "delft", "ware"}
    assert captions.words("painted tile/blue/kiln_017.png") == own | {"blue", "kiln"}
    assert captions.licences == (("CC0-1.0", 1), ("MIT", 1))


def test_case_and_lists_lose_no_caption(tmp_path):
    (picture := library(tmp_path, images=1) / "painted tile" / "red" / "000.png")
    for name in ("IMG1.JPG", "IMG2.JPG", "IMG3.JPG"):
        (tmp_path / name).write_bytes(picture.read_bytes())
    (tmp_path / "IMG1.TXT").write_text("zebra")
    (tmp_path / "metadata.csv").write_text("File_Name,Caption\nIMG2.JPG,giraffe\n")
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "IMG3.JPG", "tags": ["lion", "cub", 7]}\n')
    captions = Captions(list_images(tmp_path))
    found = [captions.words(f"IMG{number}.JPG") - {"img"} for number in (1, 2, 3)]
    assert found == [{"zebra"}, {"giraffe"}, {"lion", "cub"}]


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
    captions = Captions(list_images(root))
    assert captions.words("painted tile/red/000.png") == {"painted", "tile", "red"}
    assert caplog.text.count("the rest of a table of captions was not read") == 2


def test_a_table_that_describes_no_image_is_said_in_the_log(tmp_path, caplog):
    root = library(tmp_path, images=1)
    (root / "manifest.csv").write_text("file;label\npainted tile/red/000.png;Glazed\n")
    (root / "metadata.csv").write_text("file,label\n000.png,Glazed\n")
    (root / "metadata.jsonl").write_text('{"path": "painted tile/red/000.png"}\n')
    Captions(list_images(root))
    told = [each.getMessage().split(": ") for each in caplog.records if "describes no" in each.getMessage()]
    assert [each[1] for each in told] == ["manifest.csv", "metadata.csv"]
    assert told[0][2].endswith("of paths from its folder on")


CELLS = WordIndex([*[frozenset({"blood", "smear"})] * 6, *[frozenset({"chest", "ray"})] * 6])
EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


@pytest.fixture
def likeness():
    """The second image of each kind is what every text is about."""
    codes = np.stack([quantize(EAST + 0.2 * place % 3 * NORTH) for place in range(12)])
    codes[[1, 7]] = quantize(NORTH)
    return Likeness(CELLS, codes, lambda text: NORTH)


def test_where_words_leave_nothing_open_the_model_is_not_asked(likeness):
    def refuse(text):
        pytest.fail("the text was read")

    silent = Likeness(CELLS, likeness.codes, refuse)
    assert np.array_equal(silent.weights("a blood smear"), CELLS.weights("a blood smear"))


def test_words_choose_first_and_the_model_among_what_they_chose(likeness):
    weights = likeness.weights("a blood smear with basophils")
    assert weights.argmax() == 1
    assert np.count_nonzero(weights) == 6
    assert np.all(weights[6:] == 0)


def test_images_that_the_model_cannot_tell_apart_weigh_alike():
    blind = Likeness(CELLS, np.stack([quantize(EAST)] * 12), lambda text: NORTH)
    assert blind.weights("a tractor").tolist() == [1] * 12


def test_a_direction_in_bytes_is_that_of_any_length():
    assert quantize(np.array([3, -1.5, 0], np.float32)).tolist() == [255, 64, 128]


def test_guidance_says_how_much_the_model_tells_and_none_of_it_at_zero(likeness):
    assert np.array_equal(likeness.weights("a tractor", "", 0), np.ones(12))
    assert likeness.weights("a tractor", "", 15)[0] < likeness.weights("a tractor", "", 7.5)[0]
