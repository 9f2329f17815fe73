"""Real-Fake, the PCEvolve paper's baseline RF: what resembles the private images of another class is dropped.

It looks at private images without noise, so it has no guarantee. Tables filter here what a run of ``t2i`` released,
so that both rows are of the same candidates; as a run of its own it is the method ``rf``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pcevolve.encoders import Encoder
from pcevolve.run.labelled import Labelled

POOL = 3
"""Candidates for each image that is kept."""


def kept(made: Labelled, shots: Labelled, encoder: Encoder) -> Labelled:
    """A third of the candidates of each class: first those whose nearest private image is of their class, in order.

    Args:
        made: Candidates of all classes.
        shots: Private images of all classes.
        encoder: By which images are near.

    Source: Samuel et al. 2024, as section 5.1 and appendix A of the PCEvolve paper describe it.
    """
    own, theirs = encoder.embed(made.images), encoder.embed(shots.images)
    usable = np.isfinite(theirs).all(axis=1)
    alike = shots.targets[usable][_nearest(own, theirs[usable])] == made.targets
    places = np.concatenate(list(_first(made.targets, alike)))
    return Labelled([made.images[place] for place in places], made.targets[places])


def _nearest(points: NDArray[np.floating], to: NDArray[np.floating]) -> NDArray[np.int64]:
    """Place of the nearest of some points, for each of others; any for one that is no point."""
    gaps = np.nan_to_num(points)[:, None, :] - to[None, :, :]
    return np.asarray((gaps**2).sum(axis=2).argmin(axis=1))


def _first(targets: NDArray[np.int64], alike: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    for target in np.unique(targets):
        places = np.flatnonzero(targets == target)
        yield np.sort(places[np.argsort(~alike[places], kind="stable")][: len(places) // POOL])
