"""What is measured of images beside what judges say: nothing more."""

from __future__ import annotations

from collections.abc import Mapping

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.run.labelled import Labelled


def of_sets(sets: Mapping[str, Labelled], test: Labelled, private: Labelled | None) -> dict[str, object]:
    """Nothing; see ``concerns.Measuring``."""
    return {}


def of_embeddings(made: FloatArray, real: FloatArray) -> dict[str, object]:
    """Nothing; see ``concerns.Measuring``."""
    return {}
