"""Write the files that a run publishes: its release folder and its figures. ``exports`` writes the other formats.

The files contain nothing private. Their bytes depend only on the record, because order, times, owners and names
are fixed. An audit can therefore rebuild them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pcevolve.public.durable import write_durably, write_folder_durably
from pcevolve.public.media import UnreadableError, find_medium
from pcevolve.public.media.images.appearance import find_released_appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.promises import list_marks, state_guarantee
from pcevolve.public.publish.release import (
    DatasetRelease,
    describe_file,
    make_classifier,
    name_files,
    write_card,
)
from pcevolve.public.release import count_rounds
from pcevolve.public.selectors import find_method
from pcevolve.public.transcript.layout import CARD, CLASSIFIER, MANIFEST
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import ReleasedImage
from pcevolve.public.transcript.traffic import Counts


def publish(folder: Path, release: DatasetRelease, received: Callable[[str], bytes]) -> None:
    """Write the dataset in one step: the complete folder appears on disk, or no folder.

    Every image is decoded and encoded again, which drops the provider's metadata. An image that was chosen twice is
    written once.

    Args:
        received: Returns stored bytes (outputs of the provider, or measurements) by digest.
    """
    with write_folder_durably(folder) as partial:
        files, unreadable = _write_images(partial, release, received)
        (partial / MANIFEST).write_bytes(release.manifest(files, unreadable).encode())
        (partial / CARD).write_bytes(write_card(release, files).encode())
        means = make_classifier(release.plan, release.receipts, received)
        if means is not None:
            (partial / CLASSIFIER).write_bytes(means)


def _write_images(
    folder: Path, release: DatasetRelease, received: Callable[[str], bytes]
) -> tuple[list[ReleasedImage], list[str]]:
    """Write every image; return the manifest's entries and the candidates that cannot be decoded."""
    files: list[ReleasedImage] = []
    unreadable: list[str] = []
    appearance = find_released_appearance(release.receipts)
    kind = find_medium(release.plan.modality.kind)
    # Encode every image again even if its pixels stay the same, to drop the provider's metadata and extra bytes.
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
    """Summarise a run: its settings, its guarantee and the traffic."""
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
            else {
                "usefulness": {
                    "word": found.word(plan.modality.kind),
                    "by": plan.encoder.name,
                    **found.model_dump(),
                }
            }
        ),
    }


def write_summary(run: RunReader) -> dict[str, Any]:
    """Write and return ``summary.json`` of a run with a release (``UsageError`` if it is unfinished)."""
    values = summarise(run, run.require_plan(), len(run.manifest().files))
    write_durably(run.layout.summary, encode(values))
    return values


def encode(values: dict[str, Any]) -> bytes:
    """Encode ``summary.json`` in canonical form."""
    return json.dumps(values, indent=1).encode() + b"\n"
