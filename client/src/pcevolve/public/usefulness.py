"""What a finished run tells about its dataset's use: two numbers out of what was released, and a word for them.

Post-processing of released numbers and public images, so it costs nothing and anybody may see it. The bounds were set
on private sets whose truth is known (docs/results/usefulness.md), which also says how often the words are right.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

TOLD_APART = 2.0
"""Standard deviations above which released classes surely differ."""
NEAR, FAR = 0.9, 1.1
"""Clip radii: images up to ``NEAR`` from what was released are of the domain, beyond ``FAR`` of another."""
DIGITS = 2
"""Decimals on record: what is finer differs between machines."""

Word = Literal["useful", "doubtful", "not useful"]


class Assessment(BaseModel):
    """How a dataset stands to what was released about the private classes.

    Attributes:
        separation: By how many standard deviations of the noise the released class means differ from each other, all
            coordinates together; None where there is one class.
        distance: Mean distance of the dataset's images to where their class was released to be, in clip radii.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    separation: float | None
    distance: Annotated[float, Field(ge=0)]

    @property
    def word(self) -> Word:
        """Whether the dataset is likely to be worth something on private data.

        Images far from what was released are not, whatever the noise; where noise hides whether the classes differ,
        nobody can say.
        """
        if self.distance > FAR:
            return "not useful"
        hidden = self.separation is not None and self.separation < TOLD_APART
        return "doubtful" if hidden or self.distance > NEAR else "useful"

    @property
    def reason(self) -> str:
        """The numbers, in a sentence without its full stop."""
        apart = (
            "there is one class"
            if self.separation is None
            else f"released classes are {self.separation:.1f} standard deviations of the noise apart "
            f"({TOLD_APART:g} tell them apart)"
        )
        return (
            f"{apart}; the images lie {self.distance:.2f} clip radii from what was released about their class "
            f"(near: up to {NEAR:g}, another domain: from {FAR:g})"
        )

    @property
    def advice(self) -> str:
        """What to do next, in a sentence without its full stop."""
        return _ADVICE[self.word]


_ADVICE: dict[Word, str] = {
    "useful": "test it on held-out data of your own before you rely on it",
    "doubtful": "test it on held-out data of your own; more images per class or a larger epsilon lessen the noise, and "
    "a provider that draws your domain better brings the images nearer",
    "not useful": "this provider does not draw what was released about your classes: another model, or a library of "
    "public images of your domain, may; epsilon is not what is missing",
}
