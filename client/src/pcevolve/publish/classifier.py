"""The released class means as a classifier: whoever has them can say which class an image is nearest to.

Post-processing of what was paid for, so it costs nothing: the epsilon of the run covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.errors import TranscriptError
from pcevolve.modality.images.appearance import Appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt


def classifier(plan: PublicPlan, receipts: Sequence[Receipt], stored: Callable[[str], bytes]) -> bytes | None:
    """``classifier.safetensors`` of a run.

    Args:
        plan: Says whether class means were released around a centre; earlier runs have no classifier.
        receipts: Of the whole run.
        stored: Gives what was measured, by digest.

    Returns:
        float64 ``centre`` ``(d,)``, ``axes`` ``(d, k)`` and ``means`` ``(classes, k)``, classes in the plan's order,
        and, where private images were measured in a released appearance, the six numbers of ``appearance``, that
        images have to be given first; None for a run without a classifier.

    Raises:
        TranscriptError: What is on record as measured is something else.
    """
    measured = next((each.measured for each in receipts if each.iteration and each.measured), "")
    if not plan.centre_first or not measured:
        return None
    try:
        arrays = load(stored(measured))
        means = arrays["middle"] + arrays["deviations"]
        kept = {"centre": arrays["centre"], "axes": arrays["axes"], "means": means}
    except (SafetensorError, ValueError, KeyError):
        raise TranscriptError(
            "what was measured is no release of class means, so there is no classifier"
        ) from None
    if plan.appearance == "matched":
        first = next(each for each in receipts if not each.iteration)
        kept["appearance"] = Appearance.released(first.values).vector
    return save({name: np.ascontiguousarray(array) for name, array in kept.items()})
