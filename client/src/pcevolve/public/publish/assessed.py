"""Figures that compare a dataset with a release; ``usefulness`` interprets them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

DIGITS: Final = 2
"""Decimals on record: finer ones differ between machines."""


class AssessedFigures(BaseModel):
    """Figures that compare a dataset with the released facts about the private classes.

    Attributes:
        classes_apart: Distance of two released class means, in standard deviations of the noise on each: the
            root mean square over all pairs, with the noise's contribution subtracted; None with one class.
        distance: Mean distance of the dataset's images to their released class, with the noise's contribution
            subtracted, in clip radii.
        nearest: The same for the nearest quarter of each class's images.
        agreement: Cosine between the differences of the dataset's class means and those of the released ones;
            None if fewer than two classes have images.
        words_agree: Share of the images made from words alone whose nearest released class is the one asked
            for, with chance at 0; None with one class.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    classes_apart: Annotated[float | None, Field(ge=0)]
    distance: Annotated[float, Field(ge=0)]
    nearest: Annotated[float, Field(ge=0)]
    agreement: Annotated[float | None, Field(ge=-1, le=1)] = None
    words_agree: Annotated[float | None, Field(ge=-1, le=1)] = None
