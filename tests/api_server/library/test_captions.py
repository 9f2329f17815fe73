"""Captions come from folders, names, tables and text files."""

from __future__ import annotations

import hashlib

import pytest

from pcevolve_server.library.captions import Captions, describe
from pcevolve_server.library.folder import list_images
from pcevolve_shared import limits
from support.collections import library


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
    assert "relative to its folder" in told[0][2]


def test_licences_are_passed_on_from_files_of_the_folder_alone_and_from_their_beginning(tmp_path):
    root = library(tmp_path / "tiles", images=1)
    (tmp_path / "secret").write_text("SECRET")
    (root / "LICENSE.txt").write_bytes(b"free\x00 for\nall" + b"x" * 5000)
    (root / "Notice").symlink_to(tmp_path / "secret")
    (root / "sources").mkdir()
    (root / "COPYING").write_bytes(b"x" * (2**20 + 1))
    (root / "copyright").write_bytes(b"c" * 2**20)
    (root / "readme").write_text("no licence")
    (root / "manifest.csv").write_text("file,licence\npainted tile/red/000.png,CC0\tx\n")
    about = describe(root, Captions(list_images(root)), 3)
    assert [each.name for each in about.licence_files] == ["LICENSE", "LICENSE.txt", "copyright"]
    first = about.licence_files[1]
    assert first.text.startswith("free for\nallx")
    assert len(first.text) == limits.MAX_LICENCE_CHARS
    assert first.sha256 == hashlib.sha256((root / "LICENSE.txt").read_bytes()).hexdigest()
    assert [(each.name, each.images) for each in about.licences] == [("CC0 x", 1)]
    assert about.images == 3
