"""Embeddings and votes by Ray: the same numbers as in one process, bit for bit on machines that round alike.

A worker reads private images, embeds them and says which had changed; it draws no noise. Nothing is raised about an
image and nothing is logged, because a cluster keeps what its workers raise and log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.encoders import Encoder, load_encoder, named_weights
from pcevolve.errors import ClientError, EngineError, ModelError, UsageError
from pcevolve.geometry.distances import Embeddings, IntArray, nearest_candidates
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.levels import Window
from pcevolve.private import ProgressCallback
from pcevolve.private.cluster.connection import connect
from pcevolve.private.dataset import StoredImages, change_error, read_unchanged
from pcevolve.selectors.choosing import Rendition
from pcevolve_shared.quiet import keep_quiet

Job = TypeVar("Job")
Found = TypeVar("Found")
DECODED = 16
"""Images that a worker holds the pixels of at a time."""

Table = dict[str, NDArray[Any]]
"""Columns of one batch of rows, by name."""


@dataclass(frozen=True)
class Embedding:
    """The way in which images are embedded; public.

    Attributes:
        weights: The file of its weights, on every machine of the cluster; None for the installed ones.
        digest: What the plan says of these weights; see ``encoders.named_weights``.
        window: What is black and what is white in grey files; None for what each says itself.
    """

    encoder: str
    weights: str | None
    digest: str | None
    device: str
    rendition: Rendition
    window: Window | None


def embed_batch(batch: Mapping[str, NDArray[Any]], embedding: Embedding) -> Table:
    """Embed the images of some files.

    Args:
        batch: ``place``, int64; ``file``, the path as bytes; ``digest``, of its pixels as they were first read.

    Returns:
        ``place`` as it came; ``same``, bool: whether the pixels were those; ``row``, float64 ``(n, d)``, NaN where
        they were not.

    Raises:
        ModelError: This machine has not the weights that the plan names.
    """
    encoder = _encoder(embedding.encoder, embedding.weights, embedding.digest, embedding.device)
    rows = np.empty((len(batch["place"]), encoder.dimension))
    same = np.zeros(len(rows), dtype=np.bool_)
    # A few at a time: pixels and not embeddings are what a worker's memory is full of.
    for start in range(0, len(rows), DECODED):
        few = slice(start, start + DECODED)
        images = [
            read_unchanged(Path(os.fsdecode(file)), digest, embedding.window)
            for file, digest in zip(batch["file"][few], batch["digest"][few], strict=True)
        ]
        same[few] = [image is not None for image in images]
        shown = [
            image if image is None or embedding.rendition is None else embedding.rendition.apply_to(image)
            for image in images
        ]
        rows[few] = encoder.embed(shown)
    return {"place": batch["place"], "same": same, "row": rows}


@cache
def _encoder(name: str, weights: str | None, digest: str | None, device: str) -> Encoder:
    """The encoder of this process; ``ModelError`` where its weights cannot be had, or are others."""
    keep_quiet()
    if named_weights(name, weights) != digest:
        raise ModelError(f"encoder {name}: a machine of the cluster has other weights than this one")
    return load_encoder(name, weights, device)


TASK_IMAGES = 512
TASK_BYTES = 16 * 2**20
"""Embeddings that one task compares with the candidates."""
RETRIES = 20
"""How often one search is begun again whose process died."""


@dataclass(frozen=True)
class RayEngine:
    """An ``Engine`` that shares the work among the machines of a cluster.

    Attributes:
        weights: The file of the encoder's weights, on every machine; None for the installed ones.
        device: Of the workers, ``cpu`` or ``cuda``; a worker on ``cuda`` has one GPU to itself.
        address: ``HOST:PORT`` of the owner's cluster; None for one of the run's own.
    """

    weights: str | None
    digest: str | None
    device: str
    address: str | None

    def running(self, scratch: Path) -> AbstractContextManager[None]:
        """Join the cluster, or start one that only this user can reach; see ``Engine.running``."""
        return connect(self.address, scratch)

    def embed(
        self, images: Sequence[DecodedImage], encoder: Encoder, rendition: Rendition, told: ProgressCallback
    ) -> Embeddings:
        """See ``Engine.embed_batch``; every image is read where it is embedded."""
        if not isinstance(images, StoredImages):
            raise UsageError("encoder.engine=ray reads images from files: give --private a folder")
        how = Embedding(encoder.name, self.weights, self.digest, self.device, rendition, images.window)
        rows, same = np.empty((len(images), encoder.dimension)), np.zeros(len(images), dtype=np.bool_)
        done = 0
        with _report_failure("embedded"):
            for batch in _batches(images, how):
                rows[batch["place"]], same[batch["place"]] = batch["row"], batch["same"]
                done += len(batch["place"])
                told(done, len(images))
        if not same.all():
            # Raised here and not by the worker: a cluster keeps what its workers raise.
            raise change_error([images.files[place] for place in np.flatnonzero(~same)])
        return rows

    def find_nearest(
        self, points: Embeddings, places: IntArray, candidates: FloatArray, count: int = 1
    ) -> IntArray:
        """See ``Engine.find_nearest``; each block of points is a task of its own."""
        import ray

        near = np.empty((len(places), count), dtype=np.int64)
        step = max(1, TASK_BYTES // (points.itemsize * points.shape[1]))
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(nearest_candidates)
        # Twice as many tasks as processors: the next is there when one ends, and points do not pile up in the store.
        most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        with _report_failure("counted votes of"):
            shared = ray.put(candidates)
            waiting: dict[Any, slice] = {}
            for start in range(0, len(places), step):
                if len(waiting) >= most:
                    _take_one(waiting, near)
                block = slice(start, min(start + step, len(places)))
                waiting[task.remote(points[places[block]], shared, count)] = block
            while waiting:
                _take_one(waiting, near)
        return near


def _take_one(waiting: dict[Any, slice], near: IntArray) -> None:
    """Wait for any task, and put its answer where it belongs."""
    import ray

    (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
    near[waiting.pop(ready)] = ray.get(ready)


def _batches(images: StoredImages, how: Embedding) -> Iterator[dict[str, Any]]:
    """Embed images by Ray Data; batches come in any order, and every image names its place."""
    import ray
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    paths = zip(images.files, images.digests, strict=True)
    rows = [
        {"place": place, "file": os.fsencode(file.absolute()), "digest": digest}
        for place, (file, digest) in enumerate(paths)
    ]
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
    # At least four for each processor, so that one slow block does not keep all waiting.
    blocks = max(-(-len(rows) // TASK_IMAGES), min(len(rows), 4 * processors))
    data = ray.data.from_items(rows, override_num_blocks=blocks)
    found = data.map_batches(  # whose tasks Ray begins again as often as their process dies
        embed_batch,
        batch_size=None,
        fn_kwargs={"embedding": how},
        num_cpus=1,
        num_gpus=int(how.device == "cuda"),
    )
    return iter(found.iter_batches(batch_size=None))


@contextmanager
def _report_failure(what: str) -> Iterator[None]:
    """Say that the cluster failed, without what it said: its words may be about the data."""
    import ray

    try:
        yield
    except (ray.exceptions.RayError, OSError) as error:
        raise EngineError(
            f"the cluster failed while it {what} private images ({type(error).__name__}): nothing was drawn; its logs "
            "tell more. Go on with --resume"
        ) from None


def run_jobs(
    work: Callable[[Job], Found],
    jobs: Sequence[Job],
    begun: Callable[[Job], None],
    most: int,
    address: str | None,
    scratch: Path,
) -> Iterator[tuple[Job, Found | ClientError]]:
    """Run whole jobs, for public images alone; yield outcomes as they end. One whose process dies is not begun again.

    Args:
        work: A function of an installed module.
        begun: Is told of each job when it is handed to the cluster.
        address: ``HOST:PORT`` of the user's cluster; None for one on this machine, which ends with the work.
        scratch: Folder for what that one writes; it is gone afterwards.

    Raises:
        UsageError: There is no cluster at the address, or none can be started.
    """
    with connect(address, scratch):
        import ray

        # No retries: a whole run that killed its process would kill the next.
        task = ray.remote(num_cpus=1, max_retries=0)(attempt)
        waiting: dict[Any, Job] = {}
        for job in jobs:
            if len(waiting) >= most:
                yield _take(waiting)
            begun(job)
            waiting[task.remote(work, job)] = job
        while waiting:
            yield _take(waiting)


def attempt(work: Callable[[Job], Found], job: Job) -> Found | ClientError:
    """Run a job on a worker; an error is handed back as it is, for Ray would put a trace into its text."""
    try:
        return work(job)
    except ClientError as error:
        return error


def _take(waiting: dict[Any, Job]) -> tuple[Job, Any]:
    """Wait for any job, and take what came of it."""
    import ray

    (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
    job = waiting.pop(ready)
    try:
        return job, ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except ray.exceptions.RayError as error:
        return job, EngineError(f"its process on the cluster died ({type(error).__name__})")
