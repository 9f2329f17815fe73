"""A dataset in other forms than files in class folders, each a folder of its own with a card, ready to be uploaded.

Parquet as Hugging Face reads it, WebDataset's tar files, and of texts JSON lines and CSV. The bytes follow from the
record, so that an audit can make them again; Parquet is written by pyarrow, whose versions may differ in bytes, and
which one wrote a file stands in its footer.
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
"""Images in one file, so that none has to be held in memory as a whole with many others."""
PER_GROUP: Final = 100
"""Images that a reader of Parquet has to read at once."""

Read = Callable[[str], bytes]
"""Gives a released image's file, by its path in the release."""


def find_form(name: str, kind: Kind) -> Form:
    """The form of a name; ``UsageError`` if a dataset of this kind has none such, or its library is not installed."""
    made = MODALITIES[kind]
    form = next((each for each in made.forms if each == name), None)
    if form is None:
        raise UsageError(f"format {name}: {made.nouns.many} are written as {', '.join(made.forms)}")
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UsageError("parquet needs pyarrow: install it, or pcevolve[parquet]")
    return form


def make_export_files(
    form: Form, release: DatasetRelease, images: Sequence[ReleasedImage], read: Read
) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each file of a form, one after the other."""
    # By a hash of the id: classes are mixed, and nobody chose the order.
    mixed = sorted(images, key=lambda each: hashlib.sha256(each.candidate.encode()).digest())
    write = partial(_WRITERS[form], release.plan)
    for number, name in enumerate(name_shards(form, len(mixed))):
        yield name, write(mixed[number * PER_FILE : (number + 1) * PER_FILE], read)
    yield CARD, write_card(release, images, form).encode()


def name_shards(form: Form, images: int) -> list[str]:
    """Names of the files that hold so many images, in order."""
    count, split = math.ceil(images / PER_FILE), "data/train"
    endings: dict[Form, str] = {
        "parquet": f"-of-{count:05d}.parquet",
        "webdataset": ".tar",
        "jsonl": ".jsonl",
        "csv": ".csv",
    }
    return [f"{split}-{number:05d}{endings[form]}" for number in range(count)]


def _tar(plan: PublicPlan, images: Sequence[ReleasedImage], read: Read) -> bytes:
    """A shard: for each sample a PNG, or a text, and its class, under one key; no times, no owners."""
    buffer = io.BytesIO()
    # USTAR, and a member without time and owner: the bytes follow from the dataset alone.
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
    """A Parquet file with columns ``image`` or ``text``, and ``label``, and what Hugging Face wants to know of them."""
    import pyarrow as pa
    from pyarrow import parquet

    kind, of_kind = plan.modality.kind, find_medium(plan.modality.kind)
    features = {kind: dict(of_kind.feature), "label": {"names": list(plan.labels), "_type": "ClassLabel"}}
    told = json.dumps({"info": {"features": features}}, ensure_ascii=True)
    schema = pa.schema([(kind, of_kind.arrow_type()), ("label", pa.int64())], metadata={"huggingface": told})
    rows: list[dict[str, Any]] = [
        {kind: of_kind.make_cell(each.name, read(each.path)), "label": plan.labels.index(each.label)}
        for each in images
    ]
    buffer = io.BytesIO()
    # PNG is compressed already; statistics and dictionaries of it would be of no use.
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
    """A JSON object in each line, with ``text`` and ``label``, in UTF-8."""
    rows = ({"text": _read_text(read(each.path)), "label": each.label} for each in texts)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _sheet(_plan: PublicPlan, texts: Sequence[ReleasedImage], read: Read) -> bytes:
    """Comma-separated values as RFC 4180 has them but for line ends of UNIX, a line of column names first, in UTF-8."""
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
    """Write the dataset of a finished run in other forms; those that are there are replaced.

    Returns:
        The folders, in the same order.

    Raises:
        UsageError: It is no finished run, there is no such form, or its library is not installed.
        TranscriptError: Its record or manifest is damaged.
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
