"""Classify images or texts by a run's released class means: post-processing that any holder of the release can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.kind import load_kind
from pcevolve.keeper.private.listing import Folders
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.encoders import Encoder
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.frame import project
from pcevolve.public.media import Item, UnreadableError, find_medium
from pcevolve.public.media.images.appearance import Appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.settings import window_ends
from pcevolve.public.transcript.layout import MANIFEST, RunLayout
from pcevolve.public.transcript.reader import RunReader


@dataclass(frozen=True, repr=False)
class ClassifiedItem:
    """A file's class; as private as the file.

    Attributes:
        score: See ``score_nearest``.
        digest: The digest by which a ledger identifies the image or text.
    """

    path: Path
    label: str
    score: float
    digest: bytes


def score_nearest(distances: FloatArray) -> float:
    """Return 1 minus the ratio of the least distance to the second least: 0 halfway between two means, 1 at a mean.

    With one class the score is 1. The score ranks items of one run. It is not a probability, because
    distances do not show the spread of a class.
    """
    if len(distances) == 1:
        return 1.0
    least, following = np.partition(distances, 1)[:2]
    return 1.0 - float(least / following) if following > 0 else 0.0


@dataclass(frozen=True, eq=False)
class NearestMean:
    """A run's classifier: the nearest released class mean.

    Attributes:
        centre: float64 ``(d,)``, centre of the frame.
        axes: float64 ``(d, k)``, axes of the frame.
        means: float64 ``(C, k)``, released class means.
        appearance: Appearance given to an image before it is embedded; None to leave the image unchanged.
    """

    labels: tuple[str, ...]
    encoder: Encoder
    centre: FloatArray
    axes: FloatArray
    means: FloatArray
    appearance: Appearance | None
    plan: PublicPlan

    @classmethod
    def of(cls, root: Path, load: Callable[[PublicPlan], Encoder]) -> Self:
        """Load the classifier in a run's release folder.

        Raises:
            UsageError: The run has no classifier.
            ModelError: The encoder is missing.
        """
        layout = RunLayout(root)
        layout.require_transcript()
        plan = RunReader.strict(root).require_plan()
        try:
            arrays = load_file(layout.classifier)
            frame = arrays["centre"], arrays["axes"], arrays["means"]
        except (OSError, SafetensorError, KeyError):
            raise UsageError(
                f"{root} has no classifier: only methods that release class means, such as dp-means, "
                "write one"
            ) from None
        numbers = arrays.get("appearance")
        look = None if numbers is None else Appearance.released(tuple(numbers.tolist()))
        return cls(plan.labels, load(plan), *frame, look, plan)

    def nearest(self, embeddings: FloatArray) -> NDArray[np.int64]:
        """Return the class of the nearest mean, int64 ``(images,)``, for finite embeddings, float64 ``(images, d)``."""
        return np.asarray(self._distances(embeddings).argmin(axis=1), dtype=np.int64)

    def _distances(self, embeddings: FloatArray) -> FloatArray:
        """Return the distance to each mean, float64 ``(images, C)``."""
        found: FloatArray = np.sqrt(
            squared_distances(project(embeddings, self.centre, self.axes), self.means)
        )
        return found

    def classes(self, items: Sequence[Item | None]) -> NDArray[np.int64]:
        """Return the class of each image or text, int64 ``(items,)``; -1 for one without an embedding."""
        look = self.appearance
        shown = [each if look is None or each is None else look.apply_to(each) for each in items]
        embeddings = self.encoder.embed(shown)
        usable = np.isfinite(embeddings).all(axis=1)
        found = np.full(len(items), -1, dtype=np.int64)
        found[usable] = self.nearest(embeddings[usable])
        return found

    def classify(self, path: Path) -> ClassifiedItem:
        """Classify the image or text in a file (``DataError`` if the file contains none)."""
        item, digest = self._read(path)
        embedding = self.encoder.embed([item])
        if not np.isfinite(embedding).all():
            raise DataError(f"{path} has no embedding; this run classifies {self.plan.modality.nouns.many}")
        distances = self._distances(embedding)[0]
        label = self.labels[int(distances.argmin())]
        return ClassifiedItem(path, label, score_nearest(distances), digest)

    def list_files(self, folder: Path) -> list[Path]:
        """List the files in a folder and its subfolders, in order; a release's metadata files are left out."""
        files = sorted(Folders().files_below(folder))
        if (folder / MANIFEST).is_file():  # a release, with its metadata beside its dataset
            files = [each for each in files if each.parent != folder]
        passes_over = load_kind(self.plan.modality.kind).passes_over
        return [each for each in files if not passes_over(each)]

    def _read(self, path: Path) -> tuple[Item | None, bytes]:
        try:
            kind, window = find_medium(self.plan.modality.kind), window_ends(self.plan.data.window)
            return kind.open(path, self.appearance, window)
        except UnreadableError as error:
            raise DataError(f"{path} {error}") from None


def classify_files(nearest: NearestMean, paths: Iterable[Path]) -> Iterator[ClassifiedItem]:
    """Classify files one after the other; a folder means all files in it."""
    for path in paths:
        for file in nearest.list_files(path) if path.is_dir() else [path]:
            yield nearest.classify(file)
