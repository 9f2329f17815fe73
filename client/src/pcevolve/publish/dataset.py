"""Writes the release folder: the synthetic dataset, its manifest and its card. Holds nothing private."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pcevolve.durable import folder_replaced_durably, folder_written_durably
from pcevolve.modality.images.appearance import appearance_in
from pcevolve.modality.media import medium
from pcevolve.modality.medium import UnreadableError
from pcevolve.publish.card import card
from pcevolve.publish.release import Release, classifier, released_image, released_paths
from pcevolve.transcript.layout import CARD, CLASSIFIER, MANIFEST
from pcevolve.transcript.manifest import ReleasedImage


def publish(folder: Path, release: Release, received: Callable[[str], bytes], *, anew: bool = False) -> None:
    """Write the dataset in one step: either all of it is there and on disk, or nothing.

    Every image is decoded and encoded anew, which drops whatever metadata the provider put in; an image that was
    chosen twice is in it once.

    Args:
        folder: The release folder, which is not there yet, unless it is made anew.
        release: What belongs into it.
        received: Gives what is on record, by digest: the bytes that the provider had sent, and what was measured.
        anew: Whether a release that is there is replaced; it followed from an earlier state of the same record.
    """
    with (folder_replaced_durably if anew else folder_written_durably)(folder) as partial:
        files, unreadable = _write_images(partial, release, received)
        (partial / MANIFEST).write_bytes(release.manifest(files, unreadable).encode())
        (partial / CARD).write_bytes(card(release, len(files)).encode())
        means = classifier(release.plan, release.receipts, received)
        if means is not None:
            (partial / CLASSIFIER).write_bytes(means)


def _write_images(
    folder: Path, release: Release, received: Callable[[str], bytes]
) -> tuple[list[ReleasedImage], list[str]]:
    """Write every image, and return what the manifest has to list and which candidates are no images."""
    files: list[ReleasedImage] = []
    unreadable: list[str] = []
    appearance = appearance_in(release.receipts)
    kind = medium(release.plan.modality.kind)
    for path, candidate in released_paths(release.plan, release.population).items():
        try:
            data = kind.released(received(candidate.digest), appearance)
        except UnreadableError:
            unreadable.append(candidate.id)
            continue
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
        files.append(released_image(path, data, candidate))
    return files, unreadable
