"""Plans in which something is said otherwise; for tests only."""

from __future__ import annotations

from collections.abc import Mapping

from pcevolve.public.modality import Images, Texts
from pcevolve.public.plan import PublicPlan

OF_IMAGES = frozenset(Images.model_fields) - {"kind"}
"""Settings of images, which are in a part of their own."""
PART = OF_IMAGES | (frozenset(Texts.model_fields) - {"kind"})
"""The same of images or texts."""


def field_of(plan: PublicPlan, name: str) -> object:
    """A setting of a plan, or of the images that it asks for."""
    return getattr(plan.modality if name in PART else plan, name)


def changed(plan: PublicPlan, changes: Mapping[str, object]) -> PublicPlan:
    """A plan that says something else, unchecked."""
    part = {name: value for name, value in changes.items() if name in PART}
    others = {name: value for name, value in changes.items() if name not in PART}
    if part:
        others["modality"] = plan.modality.model_copy(update=part)
    return plan.model_copy(update=others)
