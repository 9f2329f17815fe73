"""Images that tables are made on: folders by words, and digits that are written once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ClientError
from pcevolve_benchmarks.tables.data import data_table, described, digits, given, saturated
from support.folders import class_folders


def test_words_and_a_folder_with_train_and_test(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, shots=2)
    found = given(f"chest x-ray={tmp_path}")
    assert (found.words, found.train) == ("chest x-ray", tmp_path / "train")
    assert described([found]) == [("chest x-ray", 2, 6, 4)]


@pytest.mark.parametrize("text", ["xray", "=here", "x-ray=", "x-ray=nowhere"])
def test_what_says_neither_or_is_not_there_is_refused(text: str):
    with pytest.raises(ClientError):
        given(text)


def test_two_parts_with_other_classes_are_refused(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, labels=("type A", "type C"))
    with pytest.raises(ClientError, match="same class folders"):
        given(f"x={tmp_path}")


def test_digits_are_written_once_and_no_image_is_in_both_parts(tmp_path: Path):
    found = digits(tmp_path)
    assert described([found])[0][:3] == ("digits", 3, 270)
    parts = [{path.read_bytes() for path in part.rglob("*.png")} for part in (found.train, found.test)]
    assert not parts[0] & parts[1]
    marker = next(found.train.rglob("*.png"))
    marker.unlink()
    assert digits(tmp_path) == found
    assert not marker.exists()


def test_the_table_of_data_sets_says_size_counts_words_and_labels(tmp_path: Path):
    class_folders(tmp_path / "train", seed=1)
    class_folders(tmp_path / "test", seed=2, shots=2)
    line = data_table([given(f"chest x-ray={tmp_path}")])[2]
    assert line.startswith("| chest x-ray | ")
    assert line.endswith("x40 | 6 | 4 | chest x-ray | type A, type B |")


def test_a_saturation_moves_every_colour_from_grey_by_its_factor(tmp_path: Path):
    data = digits(tmp_path, painted=True)
    half = saturated(data, 0.5, tmp_path)
    assert (half.name, half.words) == ("painted digits, saturation 0.5", data.words)
    assert described([half])[0][1:] == described([data])[0][1:]
    for path in sorted(data.train.rglob("*.png"))[:3]:
        before, after = (
            np.asarray(Image.open(part / path.relative_to(data.train)), dtype=int)
            for part in (data.train, half.train)
        )
        grey = np.asarray(Image.open(path).convert("L"), dtype=int)[..., None]
        assert np.abs(after - (grey + (before - grey) / 2)).max() <= 1
    assert saturated(data, 1, tmp_path).train == data.train


def test_grey_images_have_no_saturation_to_change(tmp_path: Path):
    with pytest.raises(ClientError, match="grey"):
        saturated(digits(tmp_path), 0.5, tmp_path)
