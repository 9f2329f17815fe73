"""Grey DICOM is shown as a viewer shows it: by window, rescale and tables, whatever its sign and kind."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pcevolve.public.media.images.files import read_image
from support.pictures import greys, save
from support.scans import RAMP, outcome, save_scan

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")


def table(first: int, entries: list[int], bits: int) -> object:
    item = pydicom.Dataset()
    item.add_new("LUTDescriptor", "SS" if first < 0 else "US", [len(entries), first, bits])
    item.add_new("LUTData", "US", entries)
    return pydicom.Sequence([item])


def test_values_without_a_window_are_scaled_by_the_range_of_their_bits(tmp_path):
    half = greys(save_scan(tmp_path / "half.dcm", RAMP * 8))
    full = greys(save_scan(tmp_path / "full.dcm", RAMP * 16))
    assert full.max() == 254
    assert np.abs(half * 2.0 - full).max() <= 2, "not by what else is in the image"


WINDOW = {"WindowCenter": 100, "WindowWidth": 101}


@pytest.mark.parametrize(
    ("tags", "levels"),
    [
        ({}, (0, 128, 255)),
        ({"RescaleSlope": 1, "RescaleIntercept": -1024, "WindowCenter": -924}, (0, 128, 255)),
        ({"VOILUTFunction": "LINEAR_EXACT"}, (0, 128, 255)),
        ({"VOILUTFunction": "SIGMOID"}, (30, 128, 225)),
    ],
)
def test_a_window_says_what_is_black_and_white_of_rescaled_values_by_its_own_function(tmp_path, tags, levels):
    shown = greys(save_scan(tmp_path / "x.dcm", RAMP, **{**WINDOW, "VOILUTFunction": "LINEAR", **tags}))
    assert np.abs(shown.ravel()[[50, 100, 150]] - levels).max() <= 2
    assert not levels[0] or shown.min() > 0
    if not levels[0]:
        assert (shown[RAMP < 50].max(), shown[RAMP > 151].min()) == (0, 255)


def test_signed_values_and_the_inverted_kind_are_shown_as_viewers_do(tmp_path):
    signed = (RAMP.astype(np.int16) - 128) * 16
    shown = greys(save_scan(tmp_path / "x.dcm", signed))
    inverted = greys(save_scan(tmp_path / "y.dcm", signed, photometric="MONOCHROME1"))
    sloped = greys(save_scan(tmp_path / "z.dcm", signed, RescaleSlope=2, RescaleIntercept=-7))
    assert shown.ravel()[0] == 0
    assert (shown + inverted == 255).all()
    assert np.array_equal(sloped, shown)


CT = {"RescaleSlope": 1, "RescaleIntercept": -1024}
TISSUE = np.where(np.arange(256).reshape(16, 16) < 128, 24, 1084).astype(np.uint16)
"""Air and 60 Hounsfield units."""


@pytest.mark.parametrize("kind", [np.uint16, np.int16])
def test_ct_without_a_window_is_refused_whatever_its_sign_and_shown_by_the_window_that_is_given(
    tmp_path, kind
):
    values = TISSUE.astype(kind)
    path = save_scan(tmp_path / "x.dcm", values, bits=16, **CT)
    assert re.match("has next to no contrast in .* its 16 bits: .*--set data.window=LOW,HIGH", outcome(path))
    shown = greys(path, (-160.0, 240.0))
    assert (shown[0, 0], shown[15, 15]) == (0, 140)
    inverted = greys(save_scan(path, values, photometric="MONOCHROME1", bits=16, **CT), (-160.0, 240.0))
    assert (inverted[0, 0], inverted[15, 15]) == (255, 115)


def test_what_a_file_calls_padding_is_no_contrast(tmp_path):
    values = TISSUE.astype(np.int16)
    values[:2], values[2:4] = -32768, -32000
    ends = {"PixelPaddingValue": -32768, "PixelPaddingRangeLimit": -32000}
    assert outcome(save_scan(tmp_path / "x.dcm", values, bits=16)) == "16x16"
    assert outcome(save_scan(tmp_path / "x.dcm", values, bits=16, PixelPaddingValue=-32768)) == "16x16"
    assert outcome(save_scan(tmp_path / "x.dcm", values, bits=16, **ends)).startswith(
        "has next to no contrast"
    )


@pytest.mark.parametrize("window", [{}, {"WindowCenter": 1, "WindowWidth": 2}])
@pytest.mark.parametrize("photometric", ["MONOCHROME2", "MONOCHROME1"])
def test_a_table_of_the_file_s_own_is_applied_before_its_window(tmp_path, window, photometric):
    lut = table(50, [0, 100, 255], 8)
    shown = greys(save_scan(tmp_path / "x.dcm", RAMP, photometric, VOILUTSequence=lut, **window))
    shown = 255 - shown if photometric == "MONOCHROME1" else shown
    assert [shown[value == RAMP][0] for value in (0, 50, 51, 52, 255)] == [0, 0, 100, 255, 255]


def test_a_modality_table_is_applied_first(tmp_path):
    lut = table(0, [each * 16 for each in range(256)], 12)
    shown = greys(save_scan(tmp_path / "x.dcm", RAMP, ModalityLUTSequence=lut))
    assert abs(shown[RAMP == 128][0] - 128) <= 1


def test_a_table_may_have_more_entries_than_their_bits_count_and_a_first_value_without_its_sign(tmp_path):
    long = table(0, [each // 16 for each in range(4096)], 8)
    shown = greys(save_scan(tmp_path / "x.dcm", RAMP * 16, VOILUTSequence=long))
    assert np.array_equal(shown, RAMP)
    below = table(2**16 - 50, [0, 100, 255], 8)
    signed = RAMP.astype(np.int16) - 128
    shown = greys(save_scan(tmp_path / "y.dcm", signed, bits=16, VOILUTSequence=below))
    assert [shown[value == signed][0] for value in (-51, -50, -49, -48)] == [0, 0, 100, 255]


def test_a_window_is_of_rescaled_values_also_where_a_file_has_a_slope_and_no_intercept(tmp_path):
    shown = greys(save_scan(tmp_path / "x.dcm", RAMP, **WINDOW, RescaleSlope=2, VOILUTFunction=""))
    assert [int(shown[value == RAMP][0]) for value in (25, 50, 75)] == [1, 129, 255]
    zero = {"WindowCenter": 0, "WindowWidth": 101, "VOILUTFunction": "LINEAR"}
    shown = greys(save_scan(tmp_path / "y.dcm", RAMP.astype(np.int16) - 100, **zero))
    assert [int(shown[value == RAMP][0]) for value in (50, 100, 150)] == [1, 129, 255]


def test_a_file_of_the_enhanced_kind_has_its_window_and_intercept_in_its_groups(tmp_path):
    group, units, window = (pydicom.Dataset() for _ in range(3))
    units.RescaleSlope, units.RescaleIntercept = 1, -1024
    window.WindowCenter, window.WindowWidth = 40, 400
    group.PixelValueTransformationSequence, group.FrameVOILUTSequence = [units], [window]
    path = save_scan(tmp_path / "x.dcm", TISSUE, bits=16, SharedFunctionalGroupsSequence=[group])
    assert abs(greys(path)[15, 15] - 140) <= 1


def test_8_bits_of_grey_are_the_same_data_as_that_picture_in_another_format(tmp_path):
    values = RAMP.astype(np.uint8)
    scan, picture = save_scan(tmp_path / "x.dcm", values, bits=8), save(tmp_path / "x.png", values)
    assert read_image(scan)[1] == read_image(picture)[1]


def test_another_window_or_table_makes_no_other_data_of_a_file(tmp_path):
    files = [
        save_scan(tmp_path / "a.dcm", RAMP * 16),
        save_scan(tmp_path / "b.dcm", RAMP * 16, WindowCenter=100, WindowWidth=50),
        save_scan(tmp_path / "c.dcm", RAMP * 16, VOILUTSequence=table(0, [0, 255], 8)),
    ]
    digests = {read_image(file, window)[1] for file in files for window in (None, (0.0, 100.0))}
    assert len(digests) == 1
    assert read_image(save_scan(tmp_path / "d.dcm", RAMP * 16 + 1))[1] not in digests
