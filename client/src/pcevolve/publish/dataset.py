"""Files that a run hands out: release folder (dataset, manifest, card), and its figures. Nothing private."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pcevolve.durable import replace_folder_durably, write_durably, write_folder_durably
from pcevolve.modality import find_medium
from pcevolve.modality.images.appearance import find_released_appearance
from pcevolve.modality.medium import UnreadableError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.usefulness import Assessment
from pcevolve.publish.card import write_card
from pcevolve.publish.promises import list_marks, state_guarantee
from pcevolve.publish.release import Release, describe_file, make_classifier, name_files
from pcevolve.selectors import find_method
from pcevolve.transcript.layout import CARD, CLASSIFIER, MANIFEST
from pcevolve.transcript.manifest import ReleasedImage
from pcevolve.transcript.reader import RunReader
from pcevolve.transcript.traffic import Counts


def publish(folder: Path, release: Release, received: Callable[[str], bytes], *, anew: bool = False) -> None:
    """Write the dataset in one step: either all of it is there and on disk, or nothing.

    Every image is decoded and encoded anew, which drops whatever metadata the provider put in; an image that was
    chosen twice is in it once.

    Args:
        received: Gives what is on record, by digest: the bytes that the provider had sent, and what was measured.
        anew: Whether a release that is there is replaced; it followed from an earlier state of the same record.
    """
    with (replace_folder_durably if anew else write_folder_durably)(folder) as partial:
        files, unreadable = _write_images(partial, release, received)
        (partial / MANIFEST).write_bytes(release.manifest(files, unreadable).encode())
        (partial / CARD).write_bytes(write_card(release, len(files)).encode())
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
    promised = state_guarantee(plan, find_method(plan.method), run.receipts)
    sent = Counts.of(run.traffic.attempts)
    return {
        "method": plan.method,
        **plan.modality.in_summary,
        "marks": list_marks(plan),
        **promised.model_dump(
            include={"epsilon_budget", "epsilon_spent", "epsilon_folder", "delta", "relation", "unit"}
        ),
        **_secrets(plan),
        "iterations": plan.iterations,
        "classes": len(plan.labels),
        "images_released": released,
        **({"images_added": sum(call.count for call in plan.enlargements())} if plan.extended else {}),
        "requests": sent.attempts,
        "bytes_sent": sent.bytes_sent,
        "bytes_received": sent.bytes_received,
        **({} if run.assessment is None else {"usefulness": _usefulness(run.assessment)}),
    }


def _secrets(plan: PublicPlan) -> dict[str, Any]:
    if plan.promised_secrecy is None:
        return {}
    return {"listed_secrets": plan.promised_secrecy.model_dump()}


def _usefulness(found: Assessment) -> dict[str, Any]:
    return {"word": found.word, **found.model_dump()}


def write_summary(run: RunReader) -> dict[str, Any]:
    """Write ``summary.json`` of a run whose release is there, and return it; ``UsageError`` if it is unfinished."""
    values = summarise(run, run.require_plan(), len(run.manifest().files))
    write_durably(run.layout.summary, encode(values))
    return values


def encode(values: dict[str, Any]) -> bytes:
    """The one spelling of ``summary.json``."""
    return json.dumps(values, indent=1).encode() + b"\n"
