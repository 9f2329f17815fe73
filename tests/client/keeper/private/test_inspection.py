"""A folder is looked at for what a run would not tell."""

from __future__ import annotations

import io

from PIL import Image

from pcevolve.keeper.private import inspection
from support.checkups import write_map


def test_copies_that_look_the_same_are_told_and_are_no_fault(check, folder):
    buffer = io.BytesIO()
    Image.open(folder / "cut" / "0.png").save(buffer, "JPEG", quality=60)
    (folder / "good" / "again.jpg").write_bytes(buffer.getvalue())
    Image.open(folder / "good" / "1.png").resize((32, 32)).save(folder / "good" / "small.png")
    code, told = check(folder, "--shots", 5)
    assert code == 0
    assert (
        "note: 1 pair of images in different classes look alike, perhaps rotated or cropped, such as cut/0.png = "
        in told
    )
    assert "note: 1 pair of images within a class look alike, perhaps rotated or cropped." in told


def test_turned_cut_and_rotated_copies_are_told_until_a_map_joins_them(check, folder, tmp_path):
    whole = Image.open(folder / "cut" / "0.png")
    whole.transpose(Image.Transpose.ROTATE_90).save(folder / "cut" / "x.png")
    whole.crop((2, 3, 46, 47)).save(folder / "cut" / "y.png")
    Image.open(folder / "good" / "0.png").rotate(5, Image.Resampling.BICUBIC).save(folder / "good" / "x.png")
    code, told = check(folder, "--set", "data.subsample=5")
    assert code == 0
    assert "similar images in different units 4: cut/0.png = cut/x.png, good/0.png = good/x.png, " in told
    assert "note: 4 pairs of images within a class look alike" in told
    joined = dict.fromkeys(("cut/x.png", "cut/y.png"), "cut/0.png") | {"good/x.png": "good/0.png"}
    units = write_map(tmp_path / "u.csv", folder, lambda name: joined.get(name, name))
    told = check(folder, "--shots", 4, "--unit-map", units)[1]
    assert "similar images in different units none" in told


def test_very_large_folders_are_not_compared_and_say_so(check, monkeypatch):
    monkeypatch.setattr(inspection, "MOST_COMPARED", 3)
    assert "not searched for in more than" in check()[1]
