"""The viewer's pictures: each embedded once, encoded anew, and no more of them than there is room for."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, PngImagePlugin

from pcevolve.pages.wire.page import Gallery
from pcevolve.transcript.bodies import Bodies
from pcevolve_shared import images
from support.provider import png


def test_pictures_are_encoded_anew_and_bounded(tmp_path: Path):
    bodies = Bodies(tmp_path)
    hidden = b"tEXtsecret of the provider"
    info = PngImagePlugin.PngInfo()
    info.add_text("note", hidden.decode())
    Image.new("RGB", (2000, 1500), "red").save(tmp_path / "large.png", pnginfo=info)
    data = (tmp_path / "large.png").read_bytes()
    gallery = Gallery(bodies.file)
    digest = bodies.keep(data)
    gallery.hang(digest)
    assert gallery[digest].state == "shown"
    encoded = images.from_base64(gallery.style.split("base64,")[1].split(")")[0])
    assert images.decode(encoded).size == (96, 72)
    assert b"secret" in data
    assert b"secret" not in encoded


def test_what_is_no_image_or_is_gone_becomes_a_placeholder(tmp_path: Path):
    bodies = Bodies(tmp_path)
    gallery = Gallery(bodies.file)
    junk = bodies.keep(b"\x89PNG\r\n\x1a\n" * 9)
    for digest in (junk, "0" * 64):
        gallery.hang(digest)
    assert gallery[junk].state == "not an image"
    assert gallery["0" * 64].state == "missing or changed"
    assert gallery.style == ""


def test_a_page_full_of_pictures_takes_no_more(tmp_path: Path):
    bodies = Bodies(tmp_path)
    gallery = Gallery(bodies.file, most_bytes=5000)
    digests = [bodies.keep(png(seed)) for seed in range(20)]
    for digest in digests:
        gallery.hang(digest)
    assert 0 < len(gallery) < 20
    assert len(gallery.style) < 5000 + 2000
    assert gallery[digests[-1]].state == "not embedded"
