"""Figures that compare a dataset with what was released; ``usefulness`` says what to think of them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

DIGITS: Final = 2
"""Decimals on record: what is finer differs between machines."""


class AssessedFigures(BaseModel):
    """Figures that compare a dataset with what was released about the private classes.

    Attributes:
        classes_apart: How far two released class means lie from each other, in standard deviations of the noise on
            each of them: the root of the mean square over all pairs, without what noise adds to it; None where there
            is one class.
        distance: Mean distance of the dataset's images to their class as it was released, without what the release's
            noise adds to it, in clip radii.
        agreement: Cosine between how the dataset's class means differ from each other and how the released ones do;
            None where fewer than two classes have images.
        words_agree: Share of the images made by words alone to which the class that was asked for is the nearest of the
            released ones, with chance at 0; None where there is one class.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    classes_apart: Annotated[float | None, Field(ge=0)]
    distance: Annotated[float, Field(ge=0)]
    agreement: Annotated[float | None, Field(ge=-1, le=1)] = None
    words_agree: Annotated[float | None, Field(ge=-1, le=1)] = None
