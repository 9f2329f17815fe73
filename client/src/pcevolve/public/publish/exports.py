"""Export a dataset in other formats than class folders. Each export is a folder with a card, ready for upload.

The formats are Parquet in Hugging Face's layout, WebDataset's tar files, and for texts also JSON lines and CSV.
The bytes depend only on the record, so that an audit can rebuild them. Parquet is written by pyarrow, and its
bytes may differ between versions of pyarrow; the file's footer names the version.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from pcevolve.errors import UsageError
from pcevolve.public.durable import replace_folder_durably
from pcevolve.public.media import find_medium
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.release import DatasetRelease, write_card
from pcevolve.public.settings import Form
from pcevolve.public.transcript.layout import CARD, RunLayout
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import ReleasedImage

PER_FILE: Final = 2000
"""Number of images per file, so that a file fits into memory."""
PER_GROUP: Final = 100
"""Number of images per Parquet row group, which a reader has to read at once."""

Read = Callable[[str], bytes]
"""Returns a released image's bytes by its path in the release."""


def find_form(name: str, kind: Kind) -> Form:
    """Return a format (``UsageError`` if this kind of data cannot be exported in it, or its library is missing)."""
    made = MODALITIES[kind]
    form = next((each for each in made.forms if each == name), None)
    if form is None:
        raise UsageError(f"format {name}: {made.nouns.many} can be written as {' or '.join(made.forms)}")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UsageError("parquet needs pyarrow: install it, or pcevolve[parquet]")
    return form


def make_export_files(
    form: Form, release: DatasetRelease, images: Sequence[ReleasedImage], read: Read
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each file of an export."""
    # Sorting by a hash of the id mixes the classes in an order that nobody chose.
    mixed = sorted(images, key=lambda each: hashlib.sha256(each.candidate.encode()).digest())
    write = partial(_WRITERS[form], release.plan)
    for number, name in enumerate(name_shards(form, len(mixed))):
        yield name, write(mixed[number * PER_FILE : (number + 1) * PER_FILE], read)
    yield CARD, write_card(release, images, form).encode()


def name_shards(form: Form, images: int) -> list[str]:
    """Return the names of the files for a number of images, in order."""
    count, split = math.ceil(images / PER_FILE), "data/train"
    endings: dict[Form, str] = {
        "parquet": f"-of-{count:05d}.parquet",
        "webdataset": ".tar",
        "jsonl": ".jsonl",
        "csv": ".csv",
    }
    return [f"{split}-{number:05d}{endings[form]}" for number in range(count)]


def _tar(plan: PublicPlan, images: Sequence[ReleasedImage], read: Read) -> bytes:
    """Return a tar shard. A sample is a PNG or text and its class, under one key, without times and owners."""
    buffer = io.BytesIO()
    # USTAR, and members without time and owner, so that the bytes depend on the dataset alone.
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as shard:
        for each in images:
            ending = each.path.rpartition(".")[2]
            for suffix, data in (
                ("cls", str(plan.labels.index(each.label)).encode()),
                (ending, read(each.path)),
            ):
                member = tarfile.TarInfo(f"{each.candidate}.{suffix}")
                member.size = len(data)
                shard.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _table(plan: PublicPlan, images: Sequence[ReleasedImage], read: Read) -> bytes:
    """Return a Parquet file with columns ``image`` or ``text``, and ``label``, and with metadata for Hugging Face."""
    import pyarrow as pa
    from pyarrow import parquet

    kind, of_kind = plan.modality.kind, find_medium(plan.modality.kind)
    features = {kind: dict(of_kind.feature), "label": {"names": list(plan.labels), "_type": "ClassLabel"}}
    features_json = json.dumps({"info": {"features": features}}, ensure_ascii=True)
    schema = pa.schema(
        [(kind, of_kind.arrow_type()), ("label", pa.int64())], metadata={"huggingface": features_json}
    )
    rows: list[dict[str, Any]] = [
        {kind: of_kind.make_cell(each.name, read(each.path)), "label": plan.labels.index(each.label)}
        for each in images
    ]
    buffer = io.BytesIO()
    # PNG is compressed already, and statistics or dictionaries of its bytes would be useless.
    parquet.write_table(
        pa.Table.from_pylist(rows, schema=schema),
        buffer,
        row_group_size=PER_GROUP,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
    )
    return buffer.getvalue()


def _lines(_plan: PublicPlan, texts: Sequence[ReleasedImage], read: Read) -> bytes:
    """Return JSON lines with ``text`` and ``label``, in UTF-8."""
    rows = ({"text": _read_text(read(each.path)), "label": each.label} for each in texts)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _sheet(_plan: PublicPlan, texts: Sequence[ReleasedImage], read: Read) -> bytes:
    """Return CSV (RFC 4180, but with UNIX line ends) with a header line, in UTF-8."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("text", "label"))
    writer.writerows((_read_text(read(each.path)), each.label) for each in texts)
    return buffer.getvalue().encode()


def _read_text(released: bytes) -> str:
    return released.decode().removesuffix("\n")


_WRITERS: Final[dict[Form, Callable[[PublicPlan, Sequence[ReleasedImage], Read], bytes]]] = {
    "parquet": _table,
    "webdataset": _tar,
    "jsonl": _lines,
    "csv": _sheet,
}


def export_run(root: Path, names: Iterable[str]) -> list[Path]:
    """Export the dataset of a finished run in other formats; existing exports are replaced.

    Returns:
        The export folders, in the order of ``names``.

    Raises:
        UsageError: The run is unfinished, a format does not exist, or its library is missing.
        TranscriptError: The record or manifest is damaged.
    """
    folder = RunLayout(root)
    folder.require_transcript()
    run = RunReader.strict(root)
    kind = run.require_finished().modality.kind
    forms = [find_form(name, kind) for name in dict.fromkeys(names)]
    release, files = DatasetRelease.of(run, {}), run.manifest().files
    for form in forms:
        with replace_folder_durably(folder.export(form)) as partial_folder:
            made = make_export_files(form, release, files, lambda path: (folder.release / path).read_bytes())
            for name, data in made:
                (partial_folder / name).parent.mkdir(exist_ok=True)
                (partial_folder / name).write_bytes(data)
    return [folder.export(form) for form in forms]
