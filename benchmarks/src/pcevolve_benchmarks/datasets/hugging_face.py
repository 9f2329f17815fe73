"""A dataset that Hugging Face ``datasets`` saved to disk: Arrow files, read without that package.

``save_to_disk`` writes ``data-*.arrow`` and ``dataset_info.json``, within a folder for each split where there are
several. An image is a struct of bytes and path.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pcevolve.errors import DataError, UsageError
from pcevolve.public.media.images.kinds import SUFFIXES
from pcevolve_benchmarks.datasets.items import Dataset, Item, Split, require
from pcevolve_shared.reading import open_file, parse_json, read_file

LAYOUT = "what Dataset.save_to_disk or DatasetDict.save_to_disk writes, with a column of images and one of class labels"
MOST_BYTES = 16 * 2**20
"""Of a description."""
MOST_FILE_BYTES = 2**36
"""Of a file of images; nothing of it is unpacked."""
SPLITS: Mapping[Split, tuple[str, ...]] = {"train": ("train",), "test": ("test", "validation")}


def items(root: Path) -> list[Item]:
    """Every image for training and of the test; without splits, every image.

    Raises:
        DataError: It is no such folder, or has no images with labels.
        UsageError: pyarrow is not installed.
    """
    found: dict[Split, Path] = {}
    for split, names in SPLITS.items():
        there = next((root / name for name in names if (root / name / "dataset_info.json").is_file()), None)
        if there is not None:
            found[split] = there
    return [item for split, folder in (found or {"": root}).items() for item in _of_folder(folder, split)]


def _of_folder(folder: Path, split: Split) -> Iterator[Item]:
    described = parse_json(read_file(require(folder / "dataset_info.json", LAYOUT), MOST_BYTES)).get(
        "features", {}
    )
    image = _column(folder, described, "Image")
    label = _column(folder, described, "ClassLabel")
    names = described[label]["names"]
    for number, row in enumerate(_rows(folder, image, label)):
        stored = row[image] or {}
        if not stored.get("bytes"):
            raise DataError(f"{folder} holds paths instead of images: save it with its images embedded")
        suffix = Path(stored.get("path") or "").suffix.lower()
        name = f"{number:06d}{suffix if suffix in SUFFIXES else '.png'}"
        yield Item(split, names[row[label]], name, partial(bytes, stored["bytes"]))


def _column(folder: Path, described: Mapping[str, Any], kind: str) -> str:
    found = [name for name, feature in described.items() if feature.get("_type") == kind]
    if len(found) != 1:
        raise DataError(f"{folder} has {len(found)} columns of kind {kind}, and one is needed: {LAYOUT}")
    return found[0]


def _rows(folder: Path, *columns: str) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow as arrow
    except ImportError:
        raise UsageError(
            "pyarrow is not installed, which reads these files: pip install 'pcevolve[parquet]'"
        ) from None
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise DataError(f"{folder} has no .arrow files: {LAYOUT}")
    for path in files:
        try:
            open_file(path, MOST_FILE_BYTES).close()
            with arrow.memory_map(str(path)) as source:
                for batch in _batches(arrow.ipc, source):
                    rows = batch.select(list(columns))
                    rows.validate(full=True)
                    yield from rows.to_pylist()
        except (arrow.ArrowException, OSError, KeyError, struct.error) as error:
            raise DataError(f"{path} is no file of {LAYOUT}: {str(error)[:200]}") from None


def _batches(ipc: Any, source: Any) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
    """Batches of a stream whose buffers lie in the file as they are, so that they cannot be larger than it.

    Raises:
        OSError: A batch is compressed, which ``save_to_disk`` never does, or not of plain columns.
    """
    messages = ipc.MessageReader.open_stream(source)
    schema = ipc.read_schema(messages.read_next_message())
    for message in messages:
        if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
            raise OSError("it is compressed, or its columns refer to dictionaries")
        yield ipc.read_record_batch(message, schema)


def _is_compressed(metadata: bytes) -> bool:
    """True if the head of a batch has the field for compression (Arrow's Message.fbs and FlatBuffers' layout)."""

    def field(table: int, number: int) -> int:
        """Where a table's field lies; 0 for one that is left out."""
        slots = table - struct.unpack_from("<i", metadata, table)[0]
        (length,) = struct.unpack_from("<H", metadata, slots)
        slot = 4 + 2 * number
        (offset,) = struct.unpack_from("<H", metadata, slots + slot) if slot < length else (0,)
        return table + offset if offset else 0

    (message,) = struct.unpack_from("<I", metadata)
    head = field(message, 2)
    batch = head + struct.unpack_from("<I", metadata, head)[0]
    return field(batch, 3) != 0


DATASET = Dataset(
    name="hugging-face",
    title="A dataset that Hugging Face datasets saved to disk",
    words="",
    read=items,
    layout=LAYOUT,
    where="huggingface.co/datasets",
    terms="as its card says",
    sizes="any; without splits, 20 images per class are held out unless --held-out says otherwise",
    held_out=20,
)
