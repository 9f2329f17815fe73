"""A released dataset in other forms: Parquet as Hugging Face reads it, and WebDataset's tar files.

The bytes follow from the release alone, so that an audit can make them again: order, times, owners and names are
fixed. Parquet is written by pyarrow, whose versions may differ in bytes; which one wrote a file stands in its footer.
"""

from __future__ import annotations

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

from pcevolve.durable import replace_folder_durably
from pcevolve.errors import UsageError
from pcevolve.modality import find_medium
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.card import write_card
from pcevolve.publish.release import Release
from pcevolve.transcript import RunLayout, RunReader
from pcevolve.transcript.layout import CARD, EXPORTS, Form
from pcevolve.transcript.manifest import ReleasedImage

PER_FILE: Final = 2000
"""Images in one file, so that none has to be held in memory as a whole with many others."""
PER_GROUP: Final = 100
"""Images that a reader of Parquet has to read at once."""

Read = Callable[[str], bytes]
"""Gives a released image's file, by its path in the release."""


def require_writer(form: Form) -> None:
    """Refuse a form whose library is not installed (``UsageError``)."""
    if form == "parquet" and find_spec("pyarrow") is None:
        raise UsageError("parquet needs pyarrow: install it, or pcevolve[parquet]")


def export(folder: Path, form: Form, release: Release, images: Sequence[ReleasedImage], read: Read) -> None:
    """Write a dataset in another form, replacing one that is there; ``UsageError`` as ``require_writer``."""
    require_writer(form)
    with replace_folder_durably(folder) as partial_folder:
        for name, data in make_export_files(form, release, images, read):
            (partial_folder / name).parent.mkdir(exist_ok=True)
            (partial_folder / name).write_bytes(data)


def make_export_files(
    form: Form, release: Release, images: Sequence[ReleasedImage], read: Read
) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each file of a form, one after the other."""
    # By a hash of the id: classes are mixed, and nobody chose the order.
    mixed = sorted(images, key=lambda each: hashlib.sha256(each.candidate.encode()).digest())
    write = partial(_table, release.plan) if form == "parquet" else partial(_tar, release.plan)
    for number, name in enumerate(name_shards(form, len(mixed))):
        yield name, write(mixed[number * PER_FILE : (number + 1) * PER_FILE], read)
    yield CARD, write_card(release, len(images), form).encode()


def name_shards(form: Form, images: int) -> list[str]:
    """Names of the files that hold so many images, in order."""
    count, split = math.ceil(images / PER_FILE), "data/train"
    if form == "parquet":
        return [f"{split}-{number:05d}-of-{count:05d}.parquet" for number in range(count)]
    return [f"{split}-{number:05d}.tar" for number in range(count)]


def _label(plan: PublicPlan, image: ReleasedImage) -> int:
    """The number of an image's class."""
    return plan.labels.index(image.path.rpartition("/")[0])


def _name(image: ReleasedImage) -> str:
    """Return the name of an image's file, without its folder."""
    return image.path.rpartition("/")[2]


def _tar(plan: PublicPlan, images: Sequence[ReleasedImage], read: Read) -> bytes:
    """A shard: for each sample a PNG, or a text, and its class, under one key; no times, no owners."""
    buffer = io.BytesIO()
    # USTAR, and a member without time and owner: the bytes follow from the dataset alone.
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as shard:
        for each in images:
            ending = each.path.rpartition(".")[2]
            for suffix, data in (("cls", str(_label(plan, each)).encode()), (ending, read(each.path))):
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
        {kind: of_kind.make_cell(_name(each), read(each.path)), "label": _label(plan, each)}
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


def export_run(root: Path, names: Iterable[str]) -> list[Path]:
    """Write the dataset of a finished run in other forms; those that are there are replaced.

    Returns:
        The folders, in the same order.

    Raises:
        UsageError: It is no finished run, there is no such form, or its library is not installed.
        TranscriptError: Its record or manifest is damaged.
    """
    forms = [_form(name) for name in dict.fromkeys(names)]
    if not forms:
        return []
    folder = RunLayout(root)
    folder.require_transcript()
    run = RunReader.strict(root)
    run.require_finished()
    release, files = Release.of(run, {}), run.manifest().files
    for form in forms:
        export(
            folder.export(form),
            form,
            release,
            files,
            lambda path: (folder.release / path).read_bytes(),
        )
    return [folder.export(form) for form in forms]


def find_forms(root: Path) -> list[Form]:
    """The forms in which a run's dataset lies beside its release."""
    return [form for form, name in EXPORTS.items() if (root / name).is_dir()]


def _form(name: str) -> Form:
    for form in EXPORTS:
        if form == name:
            return form
    raise UsageError(f"format {name}: there is {' and '.join(EXPORTS)}")
