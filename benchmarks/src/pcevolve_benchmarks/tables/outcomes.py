"""Rounds of a table's finished run: votes as they were released, and the populations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from safetensors.numpy import load
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from pcevolve.app.session.preflight import check_run
from pcevolve.errors import DataError
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.finished.outcome import Outcome
from pcevolve.public.encoders import load_encoder
from pcevolve.public.media.images.appearance import develop, find_released_appearance
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.bodies import Bodies
from pcevolve_benchmarks.together import execute


def reopen(root: Path) -> Outcome:
    """A finished run, without asking anybody anything again."""
    settings = OwnerFolder.of(root).require_options()
    return execute(check_run(settings, resume=True), Audience(Console(quiet=True)))


def measure_noise_on_votes(
    outcome: Outcome, shots: Labelled, labels: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """The votes of the first iteration: how many a class cast, and how many noise added or took, mean over classes.

    Looks at the shots without noise, as every figure of a table may: they are public.

    Args:
        outcome: Of a method that releases a histogram of votes.
        shots: The images that voted.
        labels: In the order of their classes.
    """
    _, released = next(read_votes(outcome))
    first, encoder = next(populations(outcome, labels)), load_encoder(outcome.plan.encoder.name)
    cast = count_votes_cast(
        (encoder.embed(shots.images), shots.targets), (encoder.embed(first.images), first.targets)
    )
    yield "votes cast", float(cast.sum() / len(labels))
    yield "noise cast", float(np.abs(released - cast).sum() / len(labels))


Points = tuple[NDArray[np.floating], NDArray[np.int64]]
"""Embeddings ``(images, d)`` and the class of each."""


def count_votes_cast(shots: Points, candidates: Points) -> NDArray[np.float64]:
    """How many shots have each candidate as the nearest of their class, float64 ``(candidates,)``."""
    gaps = measure_gaps(shots, candidates)
    return np.bincount(gaps.argmin(axis=1), minlength=gaps.shape[1]).astype(np.float64)


def distances(synthetic: Points, private: Points) -> Iterator[tuple[str, float]]:
    """Median distance from a synthetic image to the nearest private one of its class, and the other way.

    Args:
        synthetic: Seen as a judge sees them; those that it cannot use are left out.
        private: Seen in the same way.
    """
    gaps = measure_gaps(synthetic, private)
    yield "to private", float(np.median(gaps.min(axis=1)))
    yield "to synthetic", float(np.median(gaps.min(axis=0)))


def measure_gaps(first: Points, second: Points) -> NDArray[np.float64]:
    """Distances between two sets, float64 ``(first, second)``; between images of two classes they are infinite."""
    (ones, classes), (others, of) = first, second
    gaps = cdist(ones.reshape(len(ones), -1), others.reshape(len(others), -1))
    return np.where(classes[:, None] == of[None, :], gaps, np.inf)


def spread(outcome: Outcome) -> Iterator[tuple[str, float]]:
    """Standard deviation of the noisy votes above the threshold, as they were released in each iteration."""
    for iteration, votes in read_votes(outcome):
        kept = np.maximum(votes - outcome.plan.threshold_at(iteration), 0.0)
        yield f"votes@{iteration}", float(kept.std())


def populations(outcome: Outcome, labels: Sequence[str]) -> Iterator[Labelled]:
    """The population after each iteration, text-to-image first, as the dataset's images are given."""
    bodies = Bodies(outcome.folder.bodies)
    look = find_released_appearance(outcome.evolved.receipts)
    for population in outcome.evolved.populations:
        counts = [len(population[label]) for label in labels]
        images = [develop(bodies.file(each.digest), look) for label in labels for each in population[label]]
        yield Labelled(images, np.repeat(np.arange(len(labels)), counts))


def read_votes(outcome: Outcome) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Iteration and noisy votes, float64 ``(candidates of all classes,)``, of each histogram."""
    bodies = Bodies(outcome.folder.bodies)
    for receipt in outcome.evolved.receipts:
        votes = load(bodies.file(receipt.measured)).get("votes") if receipt.measured else None
        if votes is not None:
            yield receipt.iteration, votes


_MOST_NEIGHBOURS = 20


def estimate_intrinsic_dimension(embeddings: NDArray[np.float64]) -> float:
    """Maximum-likelihood estimate from the distances to each point's nearest neighbours; private for private images.

    The inverse is averaged over the points, which makes it the likelihood of all of them together. Rows that are
    equal to another are left out, and estimates of few or curved points come out low.

    Args:
        embeddings: float64 ``(images, d)``; rows that are not finite are left out.

    Raises:
        DataError: Fewer than four different rows.

    Source: Levina & Bickel 2004, "Maximum Likelihood Estimation of Intrinsic Dimension"; MacKay & Ghahramani's mean.
    """
    rows = np.unique(embeddings[np.isfinite(embeddings).all(axis=1)], axis=0)
    if len(rows) < 4:
        raise DataError(f"an intrinsic dimension takes at least four different images, not {len(rows)}")
    count = min(_MOST_NEIGHBOURS, len(rows) - 1)
    gaps, _ = cKDTree(rows).query(rows, count + 1)  # the nearest is the point itself
    logs = np.log(gaps[:, -1:] / gaps[:, 1:-1])
    return float((count - 2) / logs.sum(axis=1).mean())
