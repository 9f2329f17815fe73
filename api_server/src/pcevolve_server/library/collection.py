"""The images of a library: found, read and embedded."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray
from PIL import Image

from pcevolve_server.errors import GenerationError, ModelLoadError
from pcevolve_server.library.embedding import Embedder
from pcevolve_server.library.facts import Facts, FactStore, file_digest
from pcevolve_server.library.folder import ImageFile, LibraryListing, spell_path
from pcevolve_shared import images, limits

logger = logging.getLogger(__name__)

_LOG_SECONDS = 10


_NAMED = 5  # files named in one message
_POLL_SECONDS = 0.2
_KEPT_AT_ONCE = 1024  # images


class IndexingStoppedError(ModelLoadError):
    """The server had to stop while it was indexing."""


@dataclass(frozen=True)
class Collection:
    """Images to draw from.

    Attributes:
        root: The images' folder.
        files: The files, in an order that depends on their paths alone.
        facts: Size, digest and code of each image.
        embedder: The embedder of the codes.
    """

    root: Path
    files: Sequence[ImageFile]
    facts: Facts
    embedder: Embedder

    def read(self, place: int) -> Image.Image:
        """Return an image's pixels.

        Raises:
            GenerationError: The file has changed since it was indexed.
        """
        try:
            data = _read(self.root / self.files[place].path)
        except OSError as error:
            raise _make_changed_error() from error
        if file_digest(data) != self.facts.digests[place].tobytes():
            raise _make_changed_error()
        return images.decode(data)


def collect(
    listing: LibraryListing, embedder: Embedder, store: FactStore, threads: int, stopping: Callable[[], bool]
) -> Collection:
    """Read and embed all images that are not in the store.

    Args:
        store: Keeps the images' facts and codes, so that an interrupted start can continue.

    Raises:
        ModelLoadError: No file is a usable image, or the index cannot be stored.
        StoppedError: ``stopping`` returned True. Images that are finished need not be read again.
    """

    def wait() -> None:
        _require_wanted(stopping)
        time.sleep(_POLL_SECONDS)

    facts, known = store.load(listing.images)
    if not known.all():
        # Replicas load at the same time. The first replica reads the images, and the others use its index.
        with store.alone(wait):
            facts, known = store.load(listing.images)
            _complete(listing, embedder, store, threads, stopping, facts, known)
    store.forget_others(listing.images)
    return _usable(listing, facts, embedder)


def _complete(
    listing: LibraryListing,
    embedder: Embedder,
    store: FactStore,
    threads: int,
    stopping: Callable[[], bool],
    facts: Facts,
    known: NDArray[np.bool_],
) -> None:
    missing, told = np.flatnonzero(~known), time.monotonic()
    hidden = not sys.stderr.isatty()
    bar = typer.progressbar(
        length=len(missing), label="indexing", show_pos=True, file=sys.stderr, hidden=hidden
    )
    with ThreadPoolExecutor(threads, thread_name_prefix="library") as pool, bar:
        for places in np.split(missing, range(_KEPT_AT_ONCE, len(missing), _KEPT_AT_ONCE)):
            images = [listing.images[place] for place in places]
            found = _measure(listing.root, images, embedder, pool, stopping)
            store.keep(images, found)
            facts.sizes[places], facts.digests[places], facts.codes[places] = (
                found.sizes,
                found.digests,
                found.codes,
            )
            bar.update(len(places))
            if time.monotonic() - told >= _LOG_SECONDS:
                told = time.monotonic()
                logger.info("indexing the library", extra={"images": bar.pos, "images_in_all": len(missing)})


def _require_wanted(stopping: Callable[[], bool]) -> None:
    if stopping():
        raise IndexingStoppedError("stopped while the library was being indexed")


def _measure(
    root: Path,
    files: Sequence[ImageFile],
    embedder: Embedder,
    pool: ThreadPoolExecutor,
    stopping: Callable[[], bool],
) -> Facts:
    facts = Facts.empty(len(files), embedder.size)

    def measure(place: int) -> None:
        _require_wanted(stopping)
        data = _read(root / files[place].path)
        image = images.decode(data)
        facts.sizes[place] = image.size
        facts.digests[place] = np.frombuffer(file_digest(data), np.uint8)
        facts.codes[place] = embedder.embed(image)

    for future in [pool.submit(measure, place) for place in range(len(files))]:
        error = future.exception()
        if error is not None and not isinstance(error, images.ImageError | OSError):
            raise error
    return facts


def _usable(listing: LibraryListing, facts: Facts, embedder: Embedder) -> Collection:
    usable = facts.usable
    paths = sorted([*(image.path for image in compress(listing.images, ~usable)), *listing.left_out])
    more = " ..." if len(paths) > _NAMED else ""
    named = f"{len(paths)} files were left out: " + ", ".join(map(spell_path, paths[:_NAMED])) + more
    if not usable.any():
        raise ModelLoadError(
            f"the library {listing.root} has no PNG, JPEG or WebP image within the"
            f" limits{'; ' + named if paths else ''}"
        )
    if paths:
        logger.warning(
            "links, and files that are not PNG, JPEG or WebP within the limits, are not used: %s", named
        )
    files = tuple(compress(listing.images, usable))
    kept = facts if usable.all() else Facts(facts.sizes[usable], facts.digests[usable], facts.codes[usable])
    return Collection(listing.root, files, kept, embedder)


def _read(path: Path) -> bytes:
    """Return a file's bytes. Refuse a link, and a file that is too long for an image."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(limits.MAX_IMAGE_BYTES + 1)
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise images.ImageError(f"the file has more than {limits.MAX_IMAGE_BYTES} bytes")
    return data


def _make_changed_error() -> GenerationError:
    return GenerationError(
        "an image of the library has changed since it was indexed: restart the server", code="library_changed"
    )
