"""Private images on Ray: the owner's cluster, or one on loopback that the run starts and ends itself.

The only module that knows Ray, which is loaded when a run asks for it. Embeddings and votes are the same numbers as in
one process, bit for bit on machines that round alike. What goes through the cluster is paths, digests, embeddings and
votes without noise; noise is drawn in the process that pays. A worker reads private images, embeds them and says which
had changed. Nothing is raised about an image and nothing is logged, because a cluster keeps what its workers raise and
log. Who can see what there is in docs/first-run.md ("Large folders").
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.encoders import Encoder, load_encoder, named_weights
from pcevolve.errors import EngineError, ModelError, UsageError
from pcevolve.geometry.distances import Embeddings, IntArray, nearest_candidates
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.levels import Window
from pcevolve.private import ProgressCallback
from pcevolve.private.dataset import StoredImages, change_error, read_unchanged
from pcevolve.selectors.choosing import Rendition
from pcevolve_shared.clusters import ALONE, QUIET, STORE_BYTES, keep_signals, remove_folder
from pcevolve_shared.quiet import keep_quiet

_KNOCK_SECONDS = 5.0
_KEY = re.compile(r"PCEVOLVE_\w*KEY")
"""Names of variables that Ray's processes, which inherit the environment, have no use for: any of our keys."""


@contextmanager
def connect(address: str | None, scratch: Path) -> Iterator[None]:
    """Be connected to a cluster.

    Args:
        address: ``HOST:PORT`` of the owner's; None for one of our own, which ends with the connection.
        scratch: Folder for what a cluster of our own writes, mode 0700; it is gone afterwards.

    Raises:
        UsageError: There is no cluster at the address.
    """
    own = ALONE | {"RAY_AUTH_TOKEN": make_token()}
    cluster = _join(address) if address else _start(scratch)
    with _environment(QUIET | ({} if address else own)), keep_signals(), cluster:
        yield


@contextmanager
def _join(address: str) -> Iterator[None]:
    """Join the owner's cluster; nothing of it is ended."""
    ray = _import_ray()
    try:
        _knock(address)
        ray.init(address=address, configure_logging=False, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"encoder.ray_address {address}: there is no cluster to join ({type(error).__name__})"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


@cache
def make_token() -> str:
    """Return the token that opens our own clusters; Ray reads it once in the life of a process."""
    return secrets.token_hex(32)


def _knock(address: str) -> None:
    """See whether anybody is there, for Ray would try for many minutes."""
    host, separator, port = address.rpartition(":")
    if separator and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()


@contextmanager
def _start(scratch: Path) -> Iterator[None]:
    """Start a cluster on loopback, behind a token that only its processes know, and end it with all its files."""
    scratch.mkdir(mode=0o700)
    # Ray opens its own folder to everybody, and the paths of its sockets have to be short.
    short = Path(tempfile.mkdtemp(prefix="pcevolve-"))
    # Ray's folder lies in the run's private one, and its short name is a link to it.
    (scratch / "ray").mkdir()
    (short / "r").symlink_to((scratch / "ray").absolute())
    ray = _import_ray()
    try:
        _begin(ray, short / "r")
        yield
    finally:
        ray.shutdown()
        remove_folder(scratch)
        shutil.rmtree(short, ignore_errors=True)


def _begin(ray: Any, folder: Path) -> None:  # noqa: ANN401 - a module that need not be installed
    """Start a cluster; ``UsageError`` where it does not come up."""
    try:
        ray.init(
            address="local",
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            _temp_dir=str(folder),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"encoder.engine=ray: no cluster could be started here ({type(error).__name__}); one process can have "
            "one, and "
            "must not have imported Ray before: try again with the command, or --set encoder.engine=local"
        ) from None


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables that Ray reads and its processes inherit, and hide what is none of their business."""
    before = dict(os.environ)
    os.environ.update(values)
    keys = [name for name in before if _KEY.fullmatch(name)]
    for name in keys:
        del os.environ[name]
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():  # Ray sets some of its own
            del os.environ[name]
        os.environ.update({name: before[name] for name in (*values, *keys) if name in before})


def _import_ray() -> Any:  # noqa: ANN401 - a module that need not be installed
    """Ray, which reads its settings as it is imported; its log counts private images, so nothing of it is shown."""
    import ray
    import ray.data

    for name in ("ray", "ray.data"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        logger.setLevel(logging.CRITICAL)
    return ray


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
"""How often a search whose process died is begun again."""


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
        """See ``Engine.embed``; every image is read where it is embedded."""
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
