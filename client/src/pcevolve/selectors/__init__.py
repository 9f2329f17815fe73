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
from pcevolve.selectors.contrastive import Contrastive
from pcevolve.selectors.joint import Joint
from pcevolve.selectors.means import Means
from pcevolve.selectors.scene import Measurement, PrivateEmbeddings, Scene, Selector
from pcevolve.selectors.votes import ExponentialVotes, Votes

__all__ = ["SELECTORS", "Measurement", "PrivateEmbeddings", "Scene", "Selector"]

SELECTORS: Mapping[str, Callable[[], Selector]] = {
    "contrastive": Contrastive,
    "votes": Votes,
    "cells": Cells,
    "votes-rank": partial(Votes, ranked=True),
    "votes-em": ExponentialVotes,
    "joint": Joint,
    "means": Means,
}
"""Selectors by the names that methods give them."""
