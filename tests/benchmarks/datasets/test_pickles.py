"""Downloads of strangers that are small on disk and would be large in memory, run nothing, or end in a traceback."""

from __future__ import annotations

import _codecs
import gzip
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pcevolve.errors import DataError
from pcevolve_benchmarks.datasets.catalogue import dataset
from pcevolve_benchmarks.datasets.pickles import read_arrays
from support.bounded import run_bounded

pytestmark = pytest.mark.system

TEXT = "a" * 2**20
READ = """
from pathlib import Path
from pcevolve_benchmarks.datasets.catalogue import dataset
from pcevolve_benchmarks.datasets.pickles import read_arrays
from pcevolve.errors import ClientError
limit(0.25)
name, *paths = sys.argv[1:]
for path in map(Path, paths):
    try:
        print("read", len(read_arrays(path) if name == "pickle" else list(dataset(name).read(path))))
    except ClientError as error:
        print(type(error).__name__, error)
"""


def quote_reader(name: str, *paths: Path) -> list[str]:
    """What a reader says of each file, in a line, where it may take a quarter of a GiB and, with all, a minute."""
    return run_bounded(READ, name, *paths).splitlines()


class Calls:
    def __init__(self, *what: object) -> None:
        self.what = what

    def __reduce__(self):
        return self.what[0], tuple(self.what[1:])


def nest_tuples(depth: int) -> bytes:
    """A dictionary whose one name is a tuple that takes for ever to hash."""
    return b"}(" + b")" + b"2\x86" * depth + b"K\x00u."


PICKLES = {
    "an array made of its shape": pickle.dumps({"data": Calls(np.ndarray, (2**33,), "u1")}, 2),
    "an array of a size that no byte fills": pickle.dumps({"data": Calls(np.ndarray, (10**6, 10**6))}, 2),
    "reconstructed large": pickle.dumps(
        {"data": Calls(np.zeros(1).__reduce__()[0], np.ndarray, (2**33,), b"b")}, 2
    ),
    "a memo of 64 GiB": b"\x80\x02}r\xff\xff\xff\xff.",
    "bytes that it claims": b"\x80\x04}(X\x01\x00\x00\x00a\x8e" + struct.pack("<Q", 2**40) + b"u.",
    "a bytearray that it claims": b"\x80\x05}(X\x01\x00\x00\x00a\x96" + struct.pack("<Q", 2**33) + b"u.",
    "a frame that it claims": b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"}.",
    "a name that is hashed for ever": nest_tuples(60),
    "twenty million lists": b"\x80\x02" + b"]" * 20_000_000 + b".",
    "twenty million marks": b"\x80\x02" + b"(" * 20_000_000 + b".",
    "lists of lists of lists": b"\x80\x02}(X\x06\x00\x00\x00labels]" + b"2aq\x00" * 50 + b"u.",
    "one text for many arrays": pickle.dumps(
        {"data": [Calls(_codecs.encode, TEXT, "latin1") for _ in range(4000)]}, 2
    ),
    "cut in a number": b"\x80\x02}(X\x01\x00\x00\x00aJ\x00",
    "no dictionary": pickle.dumps([1]),
    "nothing": b"",
}


def test_a_pickle_takes_no_more_than_it_holds(tmp_path: Path):
    for name, data in PICKLES.items():
        (tmp_path / name).write_bytes(data)
    said = quote_reader("pickle", *(tmp_path / name for name in PICKLES))
    for name, line in zip(PICKLES, said, strict=True):
        assert "is no pickle of arrays alone" in line or line in ("read 0", "read 1"), name


@pytest.mark.parametrize(
    "evil", [Calls(os.system, "true"), Calls(eval, "1"), Calls(np.load, "x"), Calls(np.ndarray, (3,)), {1, 2}]
)
def test_a_pickle_calls_nothing(tmp_path: Path, evil: object):
    (tmp_path / "batch").write_bytes(pickle.dumps({"data": evil}, 2))
    with pytest.raises(DataError, match="is no pickle of arrays alone"):
        read_arrays(tmp_path / "batch")


def zip_files(path: Path, shape: tuple[int, ...], data: bytes) -> None:
    """An archive of arrays whose images claim a shape."""
    header = str({"descr": "|u1", "fortran_order": False, "shape": shape}).encode() + b"\n"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("train_images", "train_labels", "test_images", "test_labels"):
            archive.writestr(f"{name}.npy", array if name == "train_images" else b"")


@pytest.mark.parametrize(
    ("shape", "held"),
    [((2**12, 2**10, 2**10), 2**20), ((200, 2**10, 2**10), 200 * 2**20), ((2**62, 4, 4), 0), ((10**400,), 0)],
)
def test_an_archive_of_arrays_takes_no_more_than_a_hundred_times_its_size(tmp_path: Path, shape, held):
    zip_files(tmp_path / "blood.npz", shape, bytes(held))
    assert (tmp_path / "blood.npz").stat().st_size < 1_100_000
    (said,) = quote_reader("medmnist", tmp_path / "blood.npz")
    assert said.startswith("DataError")


@pytest.mark.parametrize(("claimed", "held"), [(2**11, 2**11), (4, 2**11), (2**31, 4)])
def test_a_packed_file_of_digits_is_read_as_far_as_its_header_says(tmp_path: Path, claimed: int, held: int):
    header = gzip.compress(struct.pack(">HBBIII", 0, 8, 3, claimed, 2**9, 2**9))
    for prefix in ("train", "t10k"):
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(header + gzip.compress(bytes(2**18)) * held)
        labels = struct.pack(">HBBI", 0, 8, 1, 1) + b"\0"
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(labels)
    (said,) = quote_reader("mnist", tmp_path)
    assert said.startswith("DataError")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("covidx", "train.txt"),
        ("camelyon17", "metadata.csv"),
        ("cifar-10", "data_batch_1"),
        ("cifar-10", "data_batch_1.bin"),
        ("mnist", "train-images-idx3-ubyte"),
        ("mnist", "train-images-idx3-ubyte.gz"),
        ("medmnist", ""),
        ("hugging-face", "dataset_info.json"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path, name: str, file: str):
    source = tmp_path / "source"
    if file:
        source.mkdir()
    os.mkfifo(source / file if file else source)
    with pytest.raises((DataError, OSError), match="not a regular file"):
        list(dataset(name).read(source))


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_images_in_an_arrow_file_are_not_unpacked(tmp_path: Path, codec: str):
    arrow = pytest.importorskip("pyarrow")
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["a", "b"]}}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": features}))
    table = arrow.table({"image": [{"bytes": bytes(2**29), "path": "x.png"}], "label": [0]})
    options = arrow.ipc.IpcWriteOptions(compression=codec)
    with (
        arrow.OSFile(str(tmp_path / "data-0.arrow"), "wb") as sink,
        arrow.ipc.new_stream(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    assert "it is compressed" in quote_reader("hugging-face", tmp_path)[0]
