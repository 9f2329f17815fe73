"""Classes as large as released class counts say that they are: post-processing of a receipt."""

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
    """Cut classes to the released proportions: the largest stays whole, and none goes empty.

    Post-processing of the first receipt's numbers. The dataset stays as it is without them, where none is above 0, or
    where they are no counts of these classes. The first images of a class stay.

    Args:
        plan: Says whether class counts are released.
        receipts: Of the run; the first round's holds a number for each class, in the plan's order.
    """
    counts = next((each.values for each in receipts if plan.class_counts and each.iteration == 1), ())
    largest = max(counts, default=0.0)
    # Noisy counts can be negative or none at all; then sizes stay, which is public too.
    if largest <= 0 or len(counts) != len(plan.labels) or not all(map(math.isfinite, counts)):
        return {label: tuple(images) for label, images in dataset.items()}
    shares = {label: max(count, 0.0) / largest for label, count in zip(plan.labels, counts, strict=True)}
    return {
        label: images[: max(1, math.ceil(shares[label] * len(images)))] for label, images in dataset.items()
    }
