"""What a finished run tells about its dataset's use: three numbers out of what was released, and a word for them.

Post-processing of released numbers and public images, so it costs nothing and anybody may see it. The bounds were set
on private sets of images whose truth is known, and then looked at once on sets of texts (docs/results/usefulness.md,
which says how often the words are right on either).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.public.modalities import MODALITIES, Kind, spoken

TOLD_APART = 2.0
"""Standard deviations above which released classes surely differ."""
NEAR, FAR = 0.9, 1.1
"""Clip radii: images up to ``NEAR`` from what was released are of the domain, beyond ``FAR`` of another."""
ALIKE = 0.8
"""Cosine from which the dataset's classes differ as the released ones do."""
DIGITS = 2
"""Decimals on record: what is finer differs between machines."""

Word = Literal["useful", "doubtful", "not useful"]


def _absent(value: object) -> bool:
    return value is None


class Assessment(BaseModel):
    """How a dataset stands to what was released about the private classes.

    Attributes:
        separation: By how many standard deviations of the noise the released class means differ from each other, all
            coordinates together; None where there is one class.
        distance: Mean distance of the dataset's images to where their class was released to be, in clip radii.
        agreement: Cosine between how the dataset's class means differ from each other and how the released ones do;
            None where fewer than two classes have images, and on record by earlier versions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    separation: float | None
    distance: Annotated[float, Field(ge=0)]
    agreement: Annotated[float | None, Field(ge=-1, le=1, exclude_if=_absent)] = None

    @property
    def word(self) -> Word:
        """Whether the dataset is likely to be worth something on private data.

        Images far from what was released are not, unless their classes surely differ as the released ones do: then one
        number speaks against the other, and nobody can say. Nor can anybody where noise hides whether classes differ.
        """
        if self.distance > FAR:
            return "doubtful" if self._alike else "not useful"
        return "doubtful" if self._hidden or self._unlike or self.distance > NEAR else "useful"

    @property
    def _alike(self) -> bool:
        """Whether the released classes surely differ, and the dataset's differ as they do."""
        told_apart = self.separation is not None and self.separation >= TOLD_APART
        return told_apart and self.agreement is not None and self.agreement >= ALIKE

    @property
    def _unlike(self) -> bool:
        """Whether the dataset's classes differ in other ways than the released ones."""
        return self.agreement is not None and self.agreement < ALIKE

    @property
    def _hidden(self) -> bool:
        """Whether noise hides that the classes differ, if they do."""
        return self.separation is not None and self.separation < TOLD_APART

    def reason(self, kind: Kind) -> str:
        """The numbers, in a sentence without its full stop; ``kind`` is what the dataset is made of."""
        apart = (
            "there is one class"
            if self.separation is None
            else f"released classes are {self.separation:.1f} standard deviations of the noise apart "
            f"({TOLD_APART:g} tell them apart)"
        )
        alike = (
            ""
            if self.agreement is None
            else f"; their classes differ as the released ones do by a cosine of {self.agreement:.2f} "
            f"(alike: from {ALIKE:g})"
        )
        return spoken(
            f"{apart}; the images lie {self.distance:.2f} clip radii from what was released about their class "
            f"(near: up to {NEAR:g}, another domain: from {FAR:g}){alike}",
            kind,
        )

    def advice(self, kind: Kind) -> str:
        """What to do next, in a sentence without its full stop; ``kind`` is what the dataset is made of."""
        if self.word == "doubtful":
            more = _LESS_NOISE if self._hidden else _NEARER if self.distance > NEAR else _TELLING
            return spoken(f"{_TEST}; {more}", kind)
        if self.word == "useful":
            return _TEST
        return MODALITIES[kind].other_provider


_TEST = "test it on held-out data of your own before you rely on it"
_LESS_NOISE = "more images per class or a larger epsilon lessen the noise"
_NEARER = "a provider that draws your domain better brings the images nearer"
_TELLING = "class names that say what images show, or a provider that knows them, make its classes differ as yours do"
