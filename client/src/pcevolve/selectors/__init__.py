"""Selectors: how the private data choose among candidates.

Each is two methods: ``measure`` is the only access to private data and draws through ``Noise``; ``pick`` is public
post-processing of what was released. ``choosing`` is the public half that an auditor repeats.

May import ``dp``, ``encoders``, ``evolve``, ``modality`` and ``public``. Imported by ``audit``, ``dp_audit``,
``private`` and ``run``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pcevolve.selectors.cells import Cells
from pcevolve.selectors.contrastive import (
    Contrastive,
    NoisyArgmax,
    calibrated,
    filtered,
    uncalibrated,
    unfiltered,
)
from pcevolve.selectors.joint import Joint
from pcevolve.selectors.means import Means
from pcevolve.selectors.noised import Noised
from pcevolve.selectors.resembling import Resembling
from pcevolve.selectors.sampled import SampledCells
from pcevolve.selectors.scene import Measurement, Measurer, PrivateEmbeddings, Scene, Selector
from pcevolve.selectors.votes import ExponentialVotes, Votes

__all__ = ["MEASURERS", "SELECTORS", "Measurement", "Measurer", "PrivateEmbeddings", "Scene", "Selector"]

SELECTORS: Mapping[str, Callable[[], Selector]] = {
    "contrastive": partial(Contrastive, calibrated),
    "filter": partial(Contrastive, filtered),
    "unfiltered": partial(Contrastive, unfiltered),
    "plain-distance": partial(Contrastive, uncalibrated),
    "noisy-argmax": partial(NoisyArgmax, calibrated),
    "votes": Votes,
    "cells": Cells,
    "sampled-cells": SampledCells,
    "votes-rank": partial(Votes, ranked=True),
    "votes-em": ExponentialVotes,
    "joint": Joint,
    "means": Means,
    "resembling": Resembling,
}
"""Selectors by the names that methods give them."""
MEASURERS: Mapping[str, Callable[[], Measurer]] = {**SELECTORS, "noised": Noised}
"""All that looks at private data for a run, whether or not it chooses by what it saw."""
