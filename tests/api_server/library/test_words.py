"""Prompts find images by words, in public arithmetic."""

from collections import Counter

import numpy as np
import pytest

from pcevolve_server.library.captions import Captions
from pcevolve_server.library.folder import list_images
from pcevolve_server.library.words import draw
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
