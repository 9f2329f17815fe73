"""DICOM files that are no larger in memory than their headers say, whatever they expand to."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.public.media.images import dicom
from support.examples import examples
from support.scans import RAMP, RGB, YBR, jpeg, jpeg_2000, outcome, save_scan

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")


def rewrite_elements(path: Path, elements: bytes, syntax: str = "1.2.840.10008.1.2.1.99") -> Path:
    """A file with those bytes where its elements were."""
    data = save_scan(path, RAMP * 16).read_bytes()
    start = 144 + struct.unpack_from("<L", data, 140)[0]
    head = data[:start].replace(b"1.2.840.10008.1.2.1\0", syntax.encode().ljust(22, b"\0"))
    head = head.replace(b"UI\x14\0" + syntax.encode()[:19], b"UI\x16\0" + syntax.encode()[:19])
    path.write_bytes(head + elements)
    return path


def squeeze(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // 2**20)


LIMITED = """
import resource, sys, time
from pathlib import Path
from pcevolve.public.media.images import dicom
from pcevolve.public.media.images.files import RejectedImageError, read_image
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    read_image(Path(sys.argv[1]))
except RejectedImageError as error:
    print(error)
after = resource.getrusage(resource.RUSAGE_SELF)
print((after.ru_maxrss - before.ru_maxrss) // 1024, round(after.ru_utime - before.ru_utime))
"""


def refusal(path: Path) -> tuple[str, int, float]:
    """Another process's words on a file, the MiB it took for them, and the seconds of a processor."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    told, figures = done.stdout.splitlines()
    memory, seconds = figures.split()
    return told, int(memory), float(seconds)


@pytest.mark.system
def test_two_megabytes_that_inflate_to_two_gigabytes_are_refused_before_they_do(tmp_path):
    path = rewrite_elements(tmp_path / "x.dcm", squeeze(2**31))
    assert path.stat().st_size < 2_200_000
    told, memory, seconds = refusal(path)
    assert told == "is DICOM of more than 256 MiB when it is inflated; scale it down"
    assert memory < 150
    assert seconds <= 3


def element(tag: int, value: bytes, vr: bytes = b"LO") -> bytes:
    return struct.pack("<HH2sH", tag >> 16, tag & 0xFFFF, vr, len(value)) + value


def nest(depth: int) -> bytes:
    return struct.pack("<HH2sHL", 8, 0x1140, b"SQ", 0, 0xFFFFFFFF) + depth * (
        struct.pack("<HHL", 0xFFFE, 0xE000, 0xFFFFFFFF)
        + struct.pack("<HH2sHL", 8, 0x1140, b"SQ", 0, 0xFFFFFFFF)
    )


@pytest.mark.system
@pytest.mark.parametrize(
    ("elements", "told"),
    [
        (element(0x00090010, b"ab") * 5_000_000, "is DICOM of more elements than a picture has"),
        (nest(200_000), "is DICOM that cannot be decoded here"),
    ],
    ids=["many", "deep"],
)
def test_elements_without_end_are_refused_in_a_sentence(tmp_path, elements, told):
    said, memory, seconds = refusal(rewrite_elements(tmp_path / "x.dcm", elements, "1.2.840.10008.1.2.1"))
    assert said.startswith(told)
    assert memory < 300
    assert seconds <= 5


def encapsulate(path: Path, syntax: str, pixels: bytes, **tags: object) -> Path:
    """A grey file whose encapsulated pixels are those bytes, whatever they are."""
    from pydicom import uid

    file = pydicom.dcmread(save_scan(path, RAMP.astype(np.uint8), bits=8))
    for name, value in tags.items():
        setattr(file, name, value)
    file.file_meta.TransferSyntaxUID = getattr(uid, syntax)
    file.PixelData = pixels
    file["PixelData"].is_undefined_length = True
    file.save_as(path, enforce_file_format=True)
    return path


def items(*values: bytes) -> bytes:
    return b"".join(struct.pack("<HHL", 0xFFFE, 0xE000, len(each)) + each for each in values)


def bomb() -> bytes:
    return struct.pack("<16L", 1, 64, *[0] * 14) + b"\x81\0" * 20_000_000


@pytest.mark.system
@pytest.mark.parametrize(
    ("syntax", "make", "told"),
    [  # as functions: what is large is made for its test, and not by whoever imports this file
        ("RLELossless", lambda: items(b"", bomb()), "is DICOM that cannot be decoded here"),
        ("RLELossless", lambda: items(bytes(40_000_000), b"ab"), "is DICOM of 10000000 frames"),
        ("RLELossless", lambda: items(*[b""] * 4) * 500_000, "is DICOM of more elements than a picture has"),
        (
            "JPEG2000Lossless",
            lambda: items(b"", jpeg_2000(RGB[..., 0], mixed=False)),
            "is DICOM that cannot be",
        ),
        ("JPEGBaseline8Bit", lambda: items(b"", jpeg(RGB[..., 0])), "is DICOM that cannot be decoded"),
        ("JPEGBaseline8Bit", lambda: items(b"", jpeg(RGB[:16, :16])), "is DICOM that cannot be decoded"),
    ],
    ids=["bomb", "table", "fragments", "size", "size of a JPEG", "components"],
)
def test_compressed_frames_are_bounded_by_what_the_header_says(tmp_path, syntax, make, told):
    said, memory, seconds = refusal(encapsulate(tmp_path / "x.dcm", syntax, make()))
    assert said.startswith(told)
    assert memory < 400
    assert seconds <= 5


@pytest.mark.parametrize(
    ("syntax", "pieces"),
    [
        ("JPEGBaseline8Bit", [jpeg(each[:16, :16, 0]) for each in (RGB, YBR)]),
        ("JPEG2000Lossless", [jpeg_2000(each[:16, :16, 0], mixed=False) for each in (RGB, YBR)]),
    ],
)
def test_a_second_frame_is_found_though_neither_header_nor_table_counts_it(tmp_path, syntax, pieces):
    path = encapsulate(tmp_path / "x.dcm", syntax, items(b"", *pieces))
    assert outcome(path) == "is DICOM of 2 frames; export those that matter as files of their own"
    whole = pieces[0]
    path = encapsulate(tmp_path / "y.dcm", syntax, items(b"", whole[:50], whole[50:]))
    assert outcome(path) == "16x16", "one frame in two pieces"


RUNS = st.one_of(
    st.integers(0, 127).map(lambda rest: (bytes([rest]) + bytes(rest + 1), rest + 1)),
    st.integers(129, 255).map(lambda less: (bytes([less, 7]), 257 - less)),
    st.just((b"\x80", 0)),
)
"""Of PackBits: literal bytes, one byte that is repeated, and nothing; each with the bytes that it expands to."""


@settings(max_examples=examples(300))
@given(segments=st.lists(st.lists(RUNS, min_size=1, max_size=12), min_size=1, max_size=15), data=st.data())
def test_of_runs_just_those_that_expand_to_more_than_the_header_says_are_refused(segments, data):
    coded = [b"".join(code for code, _ in segment) for segment in segments]
    sizes = [sum(size for _, size in segment) for segment in segments]
    most = max(*sizes, *map(len, coded))
    pixels = max((most - 64 + 1) // 2, 2) + data.draw(st.integers(-2, 2))
    starts = [*accumulate(map(len, coded), initial=64)][:-1]
    frame = struct.pack("<16L", len(coded), *starts, *[0] * (15 - len(coded))) + b"".join(coded)
    if most > 2 * pixels + 64:
        with pytest.raises(ValueError, match=r"a segment (is longer|expands to more) than its pixels"):
            dicom._require_no_more_than_declared(frame, pixels)
    else:
        dicom._require_no_more_than_declared(frame, pixels)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_frames_that_only_the_bytes_have_are_counted(tmp_path, frames):
    path = save_scan(tmp_path / "x.dcm", RAMP * 16)
    file = pydicom.dcmread(path)
    file.PixelData = file.PixelData * frames
    file.save_as(path, enforce_file_format=True)
    told = f"is DICOM of {frames} frames; export those that matter as files of their own"
    assert outcome(path) == ("16x16" if frames == 1 else told)
