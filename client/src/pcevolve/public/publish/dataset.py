"""Writes the files that a run hands out: its release folder, the dataset in other forms, and its figures.

Nothing private. The bytes follow from the record, so that an audit can make them again: order, times, owners and names
are fixed. Other forms are Parquet as Hugging Face reads it, and WebDataset's tar files; Parquet is written by pyarrow,
whose versions may differ in bytes, and which one wrote a file stands in its footer.
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

from pcevolve.errors import UsageError
from pcevolve.public.durable import replace_folder_durably, write_durably, write_folder_durably
from pcevolve.public.media import UnreadableError, find_medium
from pcevolve.public.media.images.appearance import find_released_appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.promises import list_marks, state_guarantee
from pcevolve.public.publish.release import Release, describe_file, make_classifier, name_files, write_card
from pcevolve.public.release import count_rounds
from pcevolve.public.selectors import find_method
from pcevolve.public.settings import Form
from pcevolve.public.transcript import RunLayout, RunReader
from pcevolve.public.transcript.layout import CARD, CLASSIFIER, EXPORTS, MANIFEST
from pcevolve.public.transcript.records import ReleasedImage
from pcevolve.public.transcript.traffic import Counts


def publish(folder: Path, release: Release, received: Callable[[str], bytes]) -> None:
    """Write the dataset in one step: either all of it is there and on disk, or nothing.

    Every image is decoded and encoded anew, which drops whatever metadata the provider put in; an image that was
    chosen twice is in it once.

    Args:
        received: Gives what is on record, by digest: the bytes that the provider had sent, and what was measured.
    """
    with write_folder_durably(folder) as partial:
        files, unreadable = _write_images(partial, release, received)
        (partial / MANIFEST).write_bytes(release.manifest(files, unreadable).encode())
        (partial / CARD).write_bytes(write_card(release, files).encode())
        means = make_classifier(release.plan, release.receipts, received)
        if means is not None:
            (partial / CLASSIFIER).write_bytes(means)


def _write_images(
    folder: Path, release: Release, received: Callable[[str], bytes]
) -> tuple[list[ReleasedImage], list[str]]:
    """Write every image, and return what the manifest has to list and which candidates are no images."""
    files: list[ReleasedImage] = []
    unreadable: list[str] = []
    appearance = find_released_appearance(release.receipts)
    kind = find_medium(release.plan.modality.kind)
    # Encoded anew even where nothing is changed: metadata and spare bytes of the provider's are gone by construction.
    for path, candidate in name_files(release.plan, release.population).items():
        try:
            data = kind.encode_release(received(candidate.digest), appearance)
        except UnreadableError:
            unreadable.append(candidate.id)
            continue
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
        files.append(describe_file(path, data, candidate))
    return files, unreadable


def summarise(run: RunReader, plan: PublicPlan, released: int) -> dict[str, Any]:
    """Summarise what a run was, promised and sent."""
    promised = state_guarantee(plan, find_method(plan.method.name), run.receipts)
    sent = Counts.of(run.traffic.attempts)
    return {
        "method": plan.method.name,
        **plan.modality.in_summary,
        "marks": list_marks(plan),
        **promised.model_dump(
            include={"epsilon_budget", "epsilon_spent", "epsilon_drawn", "delta", "relation", "unit"}
        ),
        **({} if plan.promised_secrecy is None else {"listed_secrets": plan.promised_secrecy.model_dump()}),
        "iterations": count_rounds(plan, (each.iteration for each in run.receipts)),
        **({} if plan.start is None else {"starts_from": plan.start.manifest}),
        "classes": len(plan.labels),
        "images_released": released,
        "requests": sent.attempts,
        "bytes_sent": sent.bytes_sent,
        "bytes_received": sent.bytes_received,
        **(
            {}
            if (found := run.assessment) is None
            else {"usefulness": {"word": found.word(plan.modality.kind), **found.model_dump()}}
        ),
    }


def write_summary(run: RunReader) -> dict[str, Any]:
    """Write ``summary.json`` of a run whose release is there, and return it; ``UsageError`` if it is unfinished."""
    values = summarise(run, run.require_plan(), len(run.manifest().files))
    write_durably(run.layout.summary, encode(values))
    return values


def encode(values: dict[str, Any]) -> bytes:
    """The one spelling of ``summary.json``."""
    return json.dumps(values, indent=1).encode() + b"\n"


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


def make_export_files(
    form: Form, release: Release, images: Sequence[ReleasedImage], read: Read
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
    endings: dict[Form, str] = {"parquet": f"-of-{count:05d}.parquet", "webdataset": ".tar"}
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


_WRITERS: Final[dict[Form, Callable[[PublicPlan, Sequence[ReleasedImage], Read], bytes]]] = {
    "parquet": _table,
    "webdataset": _tar,
}


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
        require_writer(form)
        with replace_folder_durably(folder.export(form)) as partial_folder:
            made = make_export_files(form, release, files, lambda path: (folder.release / path).read_bytes())
            for name, data in made:
                (partial_folder / name).parent.mkdir(exist_ok=True)
                (partial_folder / name).write_bytes(data)
    return [folder.export(form) for form in forms]


def _form(name: str) -> Form:
    for form in EXPORTS:
        if form == name:
            return form
    raise UsageError(f"format {name}: there is {' and '.join(EXPORTS)}")
