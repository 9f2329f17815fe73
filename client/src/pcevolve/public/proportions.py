"""Cut classes to the proportions of released class counts: post-processing of a receipt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt

Image = TypeVar("Image")


def cut_to_proportion(
    plan: PublicPlan, receipts: Iterable[Receipt], dataset: Mapping[str, tuple[Image, ...]]
) -> dict[str, tuple[Image, ...]]:
    """Cut classes to the released proportions: the largest stays whole, and none becomes empty.

    Post-processing of the first receipt's numbers. The dataset is unchanged without them, if none is above 0,
    or if they do not fit the classes. The first images of a class are kept.

    Args:
        plan: Says whether class counts are released.
        receipts: The run's receipts; the first round's holds a number for each class, in the plan's order.
    """
    counts = next((each.values for each in receipts if plan.class_counts and each.iteration == 1), ())
    largest = max(counts, default=0.0)
    # Noisy counts can be negative or missing; then sizes stay unchanged, which is public too.
    if largest <= 0 or len(counts) != len(plan.labels) or not all(map(math.isfinite, counts)):
        return {label: tuple(images) for label, images in dataset.items()}
    shares = {label: max(count, 0.0) / largest for label, count in zip(plan.labels, counts, strict=True)}
    return {
        label: images[: max(1, math.ceil(shares[label] * len(images)))] for label, images in dataset.items()
    }
