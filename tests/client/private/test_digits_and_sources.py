"""Handwritten digits and blood cells as private data, and how sources are written on the command line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.errors import DataError, UsageError
from pcevolve.private.bundled import load_cells, load_digits
from pcevolve.private.sources import (
    CELLS,
    OF_CLASSES,
    CellsSource,
    DigitsSource,
    FolderSource,
    TermsSource,
    parse_source,
    require_folder,
)

TYPES = {3: "type A", 5: "type B", 8: "type C"}


def test_shots_are_private_and_the_rest_is_held_out():
    private, held_out = load_digits(10, TYPES)
    assert private.labels == held_out.labels == ("type A", "type B", "type C")
    assert np.bincount(private.targets).tolist() == [10, 10, 10]
    assert np.bincount(held_out.targets).tolist() == [173, 172, 164]
    assert len(set(private.digests) | set(held_out.digests)) == 539


def test_labels_follow_the_mapping_and_not_the_order_of_the_digits():
    ones_last, _ = load_digits(1, {1: "z", 0: "a"}, seed=3)
    ones_first, _ = load_digits(1, {1: "a", 0: "z"}, seed=3)
    assert ones_last.labels == ones_first.labels == ("a", "z")
    zero, one = (np.asarray(ones_last.items[ones_last.indices_of(label)[0]]) for label in ("a", "z"))
    assert zero[32, 32].mean() < 128 < one[32, 32].mean()  # a zero is hollow


def test_images_are_light_ink_on_dark_at_64_pixels():
    private, _ = load_digits(2, TYPES)
    image = np.asarray(private.items[0])
    assert image.shape == (64, 64, 3)
    assert image[8:-8, 8:-8].max() > 200
    assert image[:8].max() == image[:, :8].max() == image[-8:].max() == image[:, -8:].max() == 0


def test_seed_alone_decides_the_draw():
    first, again, other = (load_digits(5, TYPES, seed)[0].digests for seed in (1, 1, 2))
    assert first == again
    assert set(first) != set(other)


def test_fifty_different_cells_of_each_kind_ten_of_them_private():
    private, held_out = load_cells(10, dict(zip(CELLS, "dcba", strict=True)), seed=1)
    assert private.labels == held_out.labels == ("a", "b", "c", "d")
    assert np.bincount(private.targets).tolist() == [10] * 4
    assert np.bincount(held_out.targets).tolist() == [40] * 4
    assert len(set(private.digests) | set(held_out.digests)) == 200
    assert {image.size for image in private.items} == {(64, 64)}


def test_cells_have_the_label_of_their_kind():
    private, _ = load_cells(10, {"single red blood cell": "z", "white blood cell": "a"})
    red, white = (np.stack([private.items[k] for k in private.indices_of(label)]) for label in "za")
    blue = [pixels[..., 2].mean() - pixels[..., 1].mean() for pixels in (red, white)]
    assert blue[0] + 10 < blue[1]  # the stain of a nucleus


@pytest.mark.parametrize("names", [{3: "a"}, {3: "a", 5: "a"}, {3: "a", 11: "b"}])
def test_unusable_choice_of_digits_is_refused(names):
    with pytest.raises(UsageError, match=r"choose two or more of 0\.\.9, each under its own label"):
        load_digits(10, names)


@pytest.mark.parametrize("label", ["a/b", "..", ".a", " a", "a\n", "a\\b", "a" * 201])
def test_label_that_cannot_name_a_folder_is_refused(label):
    with pytest.raises(UsageError, match="a label must be visible text that can name a folder"):
        load_digits(10, {3: label, 5: "b"})


def test_label_on_the_command_line_must_be_able_to_name_a_folder():
    with pytest.raises(UsageError, match="a label must be visible text that can name a folder"):
        parse_source("digits:3=a/b,5")


def test_more_shots_than_images_is_refused():
    with pytest.raises(DataError, match="class 'type A' is too small for 400 shots"):
        load_digits(400, TYPES)


def test_no_shots_is_refused():
    with pytest.raises(UsageError, match="0 shots per class asked for: ask for 1 or more"):
        load_digits(0, TYPES)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("digits", DigitsSource({digit: f"digit {digit}" for digit in range(10)})),
        ("digits:3,5", DigitsSource({3: "digit 3", 5: "digit 5"})),
        ("digits:3=type A, 5 = type B", DigitsSource({3: "type A", 5: "type B"})),
        ("./digits", FolderSource(Path("digits"))),
        (
            "cells:platelet=type 1, white blood cell",
            CellsSource({"platelet": "type 1", "white blood cell": "white blood cell"}),
        ),
        ("terms:disease, body part=B", TermsSource({"disease": "disease", "body part": "B"})),
        ("data/clinic:2024", FolderSource(Path("data/clinic:2024"))),
    ],
)
def test_sources_are_read_as_documented(text, source):
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text", ["", "digits:", "digits:3", "digits:3,3", "digits:3,x", "digits:3=,5", "digits:12,3"]
)
def test_unreadable_source_is_refused(text):
    with pytest.raises(UsageError, match=r"digits:3,5,8|two or more, each"):
        parse_source(text)


@given(st.text())
@example("~0")
def test_any_text_is_a_source_or_a_usage_error(text):
    try:
        source = parse_source(text)
    except UsageError:
        return
    assert isinstance(source, FolderSource | DigitsSource | CellsSource | TermsSource)


def test_a_table_where_images_should_be_names_the_dialect_for_texts(tmp_path):
    (tmp_path / "notes.CSV").write_text("text,label")
    with pytest.raises(DataError, match="is a table of texts: --dialect chat is for APIs that write texts"):
        require_folder(tmp_path / "notes.CSV", OF_CLASSES)
