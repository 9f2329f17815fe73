"""Handwritten digits and blood cells as private data, and how sources are written on the command line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.errors import UsageError
from pcevolve.private.bundled import load_cells, load_digits
from pcevolve.private.sources import CELLS, CellsSource, DigitsSource, FolderSource, TermsSource, parse_source

TYPES = {3: "type A", 5: "type B", 8: "type C"}


def test_shots_are_private_and_the_rest_is_held_out():
    private, held_out = load_digits(10, TYPES)
    assert private.labels == held_out.labels == ("type A", "type B", "type C")
    assert np.bincount(private.targets).tolist() == [10, 10, 10]
    assert np.bincount(held_out.targets).tolist() == [173, 172, 164]
    assert len(set(private.digests) | set(held_out.digests)) == 539


@pytest.mark.parametrize("names", [{3: "a"}, {3: "a", 5: "a"}, {3: "a", 11: "b"}])
def test_unusable_choice_of_digits_is_refused(names):
    with pytest.raises(UsageError, match=r"choose two or more of 0\.\.9, each under its own label"):
        load_digits(10, names)


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


@given(st.text())
@example("~0")
def test_any_text_is_a_source_or_a_usage_error(text):
    try:
        source = parse_source(text)
    except UsageError:
        return
    assert isinstance(source, FolderSource | DigitsSource | CellsSource | TermsSource)


def test_fifty_different_cells_of_each_kind_ten_of_them_private():
    private, held_out = load_cells(10, dict(zip(CELLS, "dcba", strict=True)), seed=1)
    assert private.labels == held_out.labels == ("a", "b", "c", "d")
    assert np.bincount(private.targets).tolist() == [10] * 4
    assert np.bincount(held_out.targets).tolist() == [40] * 4
    assert len(set(private.digests) | set(held_out.digests)) == 200
    assert {image.size for image in private.items} == {(64, 64)}
