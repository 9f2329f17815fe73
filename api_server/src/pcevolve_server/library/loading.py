"""Load a generator from ``library:DIR``."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

from pcevolve_server import sources
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.captions import Captions, describe
from pcevolve_server.library.collection import Collection, collect
from pcevolve_server.library.embedding import AppearanceEmbedder, Embedder, NeighbourIndex
from pcevolve_server.library.facts import FactStore
from pcevolve_server.library.folder import LibraryListing, list_images
from pcevolve_server.library.generator import LibraryGenerator
from pcevolve_server.library.words import Fits, Likeness, WordIndex
from pcevolve_server.model_settings import ModelSettings, SafetyPolicy
from pcevolve_server.work import Generator
from pcevolve_shared import limits
from pcevolve_shared.processors import count_cores
from pcevolve_shared.wire import LibraryInfo, ModelInfo, Resolution

logger = logging.getLogger(__name__)

_LARGEST_BASE = 512  # pixels; larger images are had by asking for them


def load(settings: ModelSettings, stopping: Callable[[], bool]) -> Generator:
    """Index the library of ``settings``, or use the index of an earlier start.

    Args:
        stopping: Returns whether the server has to stop. Indexing then ends, and continues at the next start.

    Raises:
        ModelLoadError: The library has no readable image, or a setting is for another kind of model.
    """
    _require_none_for_others(settings)
    root = sources.library_folder(settings.model)
    threads = settings.threads or count_cores()
    faiss.omp_set_num_threads(threads)
    found = list_images(root)
    cache = cache_folder(settings, root)
    embedder = AppearanceEmbedder()
    collection = collect(found, embedder, _open_store(cache, embedder), threads, stopping)
    captions = Captions(found)
    words = WordIndex(captions.words(file.path) for file in collection.files)
    about = describe(root, captions, len(collection.files))
    info = _info(sources.identify(settings), collection, about)
    fits, beside = _fits(settings, words, found, collection, cache, stopping)
    logger.info("library loaded", extra={"model": info.id, "images": about.images})
    return LibraryGenerator(info, collection, NeighbourIndex(collection.facts.codes), fits, beside)


def _open_store(cache: Path, embedder: Embedder) -> FactStore:
    return FactStore(cache / embedder.name, embedder.size)


def _fits(
    settings: ModelSettings,
    words: WordIndex,
    found: LibraryListing,
    collection: Collection,
    cache: Path,
    stopping: Callable[[], bool],
) -> tuple[Fits, int]:
    """Return a function that weighs images for a prompt, and the bytes that its model and index take.

    Without ``settings.library_clip``, there is neither model nor index.

    Raises:
        ModelLoadError: As for ``load``, or the library has changed in the meantime.
    """
    if not settings.library_clip:
        return words.weights, 0
    # Imported only if needed, because importing PyTorch takes seconds and memory.
    from pcevolve_server.library import clip

    model = clip.load(settings)
    # One thread here, because the network has its own threads.
    seen = collect(found, model, _open_store(cache, model), 1, stopping)
    if not np.array_equal(seen.facts.digests, collection.facts.digests):
        raise ModelLoadError("the library changed while it was being indexed: start the server again")
    codes = seen.facts.codes
    return Likeness(words, codes, model.read).weights, codes.nbytes + model.memory


def _require_none_for_others(settings: ModelSettings) -> None:
    if settings.safety is SafetyPolicy.REQUIRED:
        raise ModelLoadError("a library has no safety checker: use --safety-checker auto or off")
    if settings.adapter or settings.scheduler or settings.loras or settings.embeddings:
        others = "--ip-adapter, --lora, --embedding and --scheduler"
        raise ModelLoadError(f"{others} need a diffusion model: leave them out for a library")


def cache_folder(settings: ModelSettings, root: Path) -> Path:
    """Return the folder of this library's indexes. Each library has its own, so that no other index is removed.

    Raises:
        ModelLoadError: The folder would be in the library itself.
    """
    base = settings.library_cache or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    whose = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    folder = Path(base).expanduser() / "pcevolve-server" / "libraries" / whose
    if folder.resolve().is_relative_to(root.resolve()):
        raise ModelLoadError("--library-cache is inside the library: choose a folder outside it")
    return folder


def _info(name: str, collection: Collection, about: LibraryInfo) -> ModelInfo:
    side = min(_LARGEST_BASE, int(np.median(collection.facts.sizes.min(1))))
    base = max(limits.MIN_SIZE, side // limits.SIZE_STEP * limits.SIZE_STEP)
    return ModelInfo(
        id=name,
        name=name.removeprefix(sources.LIBRARY),
        family="library",
        pipelines=("text-to-image", "image-to-image"),
        base_resolution=Resolution(width=base, height=base),
        size_multiple=limits.SIZE_STEP,
        max_images=limits.MAX_BATCH,
        library=about,
    )
