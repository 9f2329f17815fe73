"""Captions of private images in a run's plan: which caption stands in which place, and what a receipt says of it.

As ``public.noised`` does for noised images. Gate and audit both take captions out of the measurement here.
"""

from __future__ import annotations

from pcevolve.public.captioning import captions_in, digest_of
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Chosen, choices_by_class


def texts_in(plan: PublicPlan, measurement: bytes) -> dict[Chosen, str]:
    """The captions in a measurement under their ids and digests, class by class in the plan's order.

    Raises:
        ValueError: The measurement is not in the one form that the plan gives it.
    """
    captions = captions_in(measurement, len(plan.labels), plan.prototypes)
    return {
        Chosen(plan.held(label, index), digest_of(caption)): caption
        for label, of_class in zip(plan.labels, captions, strict=True)
        for index, caption in enumerate(of_class)
    }


def choices_of(plan: PublicPlan, measurement: bytes) -> tuple[Choice, ...]:
    """What a receipt says of a measurement: every caption of it, for its class.

    Raises:
        ValueError: As for ``texts_in``.
    """
    return choices_by_class(plan.labels, list(texts_in(plan, measurement)))
