"""Names that may be one are found: ids in two spellings, and files that are named after others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.keeper.private.companions import find_companions, names_companions
from pcevolve.keeper.private.spelling import find_respelled, find_shortened


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("007", "7"),
        ("P-07", "p7"),
        ("p 7", "P_007"),
        ("Smith, John", "smith john"),
        ("Müller", "MULLER"),
        ("12-345-6", "123456"),
        ("A.B-1", "AB1"),
        ("٧", "7"),
        ("７", "7"),
        ("a\u200b1", "a1"),
        ("0", "000"),
    ],
)
def test_ids_that_differ_in_case_zeros_accents_or_marks_alone_are_a_pair(one, other):
    (pair,) = find_respelled(["x", one, "y", other, one])
    assert set(pair) == {one, other}


def test_other_ids_are_no_pair():
    visits = [f"{patient}-{visit}" for patient in range(30) for visit in range(30)]
    assert find_respelled(visits) == []
    assert find_respelled(["1a", "a1", "10a", "1", "10", "100"]) == []
    assert find_respelled([f"P{number}" for number in range(3000)]) == []


@given(st.lists(st.text(max_size=6), max_size=8))
def test_pairs_are_of_two_ids_that_there_are(ids):
    for one, other in find_respelled(ids):
        assert one != other
        assert {one, other} <= set(ids)


def test_numbers_that_a_spreadsheet_shortened_are_named():
    assert find_shortened(["1.23457E+11", "7", "1e5", "2E+10", "1.5", "e10"]) == ["1.23457E+11", "2E+10"]


@pytest.mark.parametrize(
    ("picture", "other"),
    [
        ("X.png", "X_mask.png"),
        ("X.png", "X-seg.png"),
        ("X.png", "X.mask.png"),
        ("X.jpg", "X_GT.png"),
        ("X.png", "mask_X.png"),
        ("X.png", "X_1.png"),
        ("X.png", "X (1).png"),
        ("X.png", "X - Copy.png"),
        ("X.png", "Copy of X.png"),
        ("X.jpg", "X.png"),
        ("X_image.png", "X_label.png"),
        ("001.png", "001mask.png"),
        ("images/X.png", "masks/X.png"),
        ("a/images/X.png", "a/masks/X_mask.png"),
        ("a/X.png", "a/ground_truth/X.png"),
    ],
)
def test_a_file_that_is_named_after_another_is_its_companion(picture, other):
    assert find_companions([picture, other, "a/other.png", "b/other.png"]) == [(0, 1)]


@pytest.mark.parametrize(
    "names",
    [
        ["a/1.png", "b/1.png"],
        ["a/1.png", "a/11.png", "a/2.png"],
        ["a/P1_1.png", "a/P1_2.png"],
        ["crop/1.png", "weed/1.png"],
        ["a/mask_1.png", "a/mask_2.png"],
        ["a/left eye.png", "a/right eye.png"],
    ],
)
def test_files_of_other_names_are_no_companions(names):
    assert find_companions(names) == []


def test_folders_of_companions_are_known_by_their_names():
    assert [
        name for name in ("ground_truth", "masks", "P-7", "Label", "images", "") if names_companions(name)
    ] == [
        "ground_truth",
        "masks",
        "Label",
    ]
