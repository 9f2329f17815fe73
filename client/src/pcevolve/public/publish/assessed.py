"""Figures that compare a dataset with a release; ``usefulness`` interprets them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

DIGITS: Final = 2
"""Number of decimals on record. Further decimals would differ between machines."""


class AssessedFigures(BaseModel):
    """Figures that compare a dataset with the released facts about the private classes.

    Attributes:
        classes_apart: Distance of two released class means, in standard deviations of the noise on each mean. It is
            the root mean square over all pairs, minus the noise's contribution; None with one class.
        distance: Mean distance of the dataset's images to the released mean of their class, minus the noise's
            contribution, in clip radii.
        nearest: Mean distance of the nearest quarter of each class's images, otherwise like ``distance``.
        agreement: Cosine between the differences of the dataset's class means and the differences of the released
            class means; None if fewer than two classes have images.
        words_agree: Share of the images made from words alone whose nearest released class is the requested class,
            rescaled so that chance is 0; None with one class.
        alike: Least agreement of a dataset that is called useful, if agreement alone decides; otherwise None. It
            follows from the plan.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    classes_apart: Annotated[float | None, Field(ge=0)]
    distance: Annotated[float, Field(ge=0)]
    nearest: Annotated[float, Field(ge=0)]
    agreement: Annotated[float | None, Field(ge=-1, le=1)] = None
    words_agree: Annotated[float | None, Field(ge=-1, le=1)] = None
    alike: Annotated[float | None, Field(ge=-1, le=1)] = None
