"""Estimate a dataset's usefulness at the end of its run, from three post-processed metrics, and give a verdict.

The metrics are post-processing of released numbers and public images, so they cost nothing and are public. The
bounds were set on private sets of images whose usefulness was known; sets of texts needed one more bound.
docs/results/verdict.md states how often the verdict is right.

>>> Assessment(classes_apart=9.0, distance=0.4, nearest=0.2, agreement=0.9, words_agree=0.1).word("image")
'useful'
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, log, sqrt
from typing import Final, Literal, Self

from pcevolve.public.modality import MODALITIES, Kind, Modality
from pcevolve.public.publish.assessed import DIGITS, AssessedFigures

LEAST_SHOWN: Final = 1e-4
"""Smallest printed chance; smaller chances are printed as "less than" this."""

Word = Literal["useful", "doubtful", "not useful"]


@dataclass(frozen=True)
class Bounds:
    """Bounds between the verdicts.

    Attributes:
        distinct: Distance of released classes, in standard deviations of the noise, at and above which the classes
            differ. Noise alone separates two classes this far in 3 of 100 releases (chi-squared with 16 degrees of
            freedom). It separates more than two classes this far less often.
        near: Distance in clip radii, minus the noise's contribution, up to which a dataset belongs to the domain.
        strange: Distance in clip radii beyond which the nearest quarter of each class's images shows another domain,
            provided that ``uniform`` is also exceeded.
        uniform: Share of the mean distance that the nearest quarter must also exceed. If a few images show the
            domain, the nearest quarter is much nearer than the rest.
        far: Distance in clip radii beyond which texts may belong to another domain. For texts, the nearest items
            say little.
        alike: Agreement at and above which the dataset's classes differ in the same way as the released classes.
        matched: ``words_agree`` at and above which spending epsilon adds nothing.
    """

    distinct: float = 5.0
    near: float = 0.62
    strange: float = 0.75
    uniform: float = 0.75
    far: float = 0.9
    alike: float = 0.75
    matched: float = 0.7


BOUNDS: Final = Bounds()
MEASURED_SHOTS: Final = (10, 50)
MEASURED_NOISE: Final = 0.13
"""Largest noise on class means, in clip radii per axis, at which ``ALIKE`` was measured: ten shots at epsilon 10."""
ALIKE: Final = (0.65, 0.72)
"""Least agreement of a useful dataset that two encoders selected, for each of ``MEASURED_SHOTS``."""


def choose_alike(shots: int) -> float:
    """Return the agreement that a useful dataset of several encoders needs, interpolated between ``MEASURED_SHOTS``."""
    low, high = MEASURED_SHOTS
    share = log(min(max(shots, low), high) / low) / log(high / low)
    return round(ALIKE[0] + share * (ALIKE[1] - ALIKE[0]), DIGITS)


class Assessment(AssessedFigures):
    """The figures, and their interpretation."""

    @classmethod
    def of(cls, figures: AssessedFigures) -> Self:
        """Build an assessment from computed figures."""
        return cls(**figures.model_dump())

    def word(self, kind: Kind) -> Word:
        """Return the verdict on the dataset's likely use on private data, by the bounds for its kind.

        If the nearest images are far from the release, and not much nearer than the others, the dataset is not useful,
        whatever the other figures are. A few images of the domain may still teach a classifier enough. If noise hides
        whether classes differ, the verdict stays open. If images made from words alone already match the classes, a
        paid dataset is no better, and the figures do not show how good either is. After a choice by two encoders,
        agreement alone decides.
        """
        unlike = self.agreement is not None and self.agreement < self._least_alike
        if self._is_of_another_domain(MODALITIES[kind].far_unlike):
            return "not useful"
        if self.words_agree is not None and self.words_agree >= BOUNDS.matched:
            return "doubtful"
        return "doubtful" if self._hidden or unlike or self._is_far else "useful"

    def _is_of_another_domain(self, far_unlike: float | None) -> bool:
        if far_unlike is None:
            return self.nearest > BOUNDS.strange and self.nearest > BOUNDS.uniform * self.distance
        return self.distance > BOUNDS.far and (self.agreement is None or self.agreement < far_unlike)

    def estimate(self, kind: Kind) -> str:
        """Return the verdict with the word "estimated", because nothing was measured on held-out data."""
        return f"estimated {self.word(kind)}"

    @property
    def confusion(self) -> float | None:
        """Probability that noise makes one of two classes this far apart look like the other; None with one class.

        It is the probability that a released class mean is nearer to the other class's true mean than to its own.
        """
        return None if self.classes_apart is None else erfc(self.classes_apart / sqrt(8)) / 2

    @property
    def _least_alike(self) -> float:
        """Least agreement at which the dataset's classes differ as the released classes do."""
        return BOUNDS.alike if self.alike is None else self.alike

    @property
    def _hidden(self) -> bool:
        """True if noise would hide a difference between the classes."""
        apart = self.classes_apart
        return not self._agreement_decides and apart is not None and apart < BOUNDS.distinct

    @property
    def _is_far(self) -> bool:
        """True if the dataset is too far from the release to be called useful."""
        return not self._agreement_decides and self.distance > BOUNDS.near

    @property
    def _agreement_decides(self) -> bool:
        return self.alike is not None and self.agreement is not None

    def reason(self, kind: Kind) -> str:
        """State the figures in sentences; ``kind`` is the dataset's kind."""
        unlike, many = MODALITIES[kind].far_unlike, MODALITIES[kind].nouns.many
        strange = (
            f"The nearest quarter of them lies at {self.nearest:.2f} clipping radii. (If this "
            f"distance is above {BOUNDS.strange:g} and also above {100 * BOUNDS.uniform:g} % of the mean distance, a "
            "different domain is assumed.)"
            if unlike is None
            else f"(A different domain is assumed above {BOUNDS.far:g} if the cosine of the classes is also below "
            f"{unlike:g}.)"
        )
        alike = (
            ""
            if self.agreement is None
            else " The differences between the dataset's classes match the differences between the released means with "
            f"a cosine of {self.agreement:.2f} ({self._least_alike:g} or more is good)."
        )
        words = (
            ""
            if self.words_agree is None
            else f" {many.capitalize()} made from words alone match their class with a score of {self.words_agree:.2f} "
            f"on a scale from 0 (as often as by chance) to 1 (always). From {BOUNDS.matched:g} on, spending epsilon "
            "adds nothing."
        )
        return (
            f"{self._apart} The {many} lie on average {self.distance:.2f} clipping radii from the released mean of "
            f"their class, after subtracting the contribution of the noise ({BOUNDS.near:g} or less is near). "
            f"{strange}{alike}{words}"
        )

    def sentence(self, kind: Kind) -> str:
        """Explain the verdict in plain words, with the deciding figure; without a full stop."""
        far, made = f"{self.distance:.2f} clipping radii from the released means", MODALITIES[kind]
        many = made.nouns.many
        if self.word(kind) == "useful":
            differ = "the dataset's classes differ from each other in the same way as yours"
            if self._agreement_decides:
                return f"{differ} (cosine {self.agreement:.2f}; {self._least_alike:g} or more is good)"
            return f"the {many} lie near your domain, and {differ}"
        if self.word(kind) == "not useful":
            if made.far_unlike is not None:
                return f"the {many} are of another domain ({far}; in your domain at most {BOUNDS.far:g})"
            return (
                f"the {many} are of another domain (even the nearest quarter of each class lies "
                f"{self.nearest:.2f} clipping radii from the released means; in your domain at most "
                f"{BOUNDS.strange:g})"
            )
        if self.words_agree is not None and self.words_agree >= BOUNDS.matched:
            return (
                f"spending epsilon adds nothing: {many} made from words alone match their class with a score of "
                f"{self.words_agree:.2f} on a scale from 0 (as often as by chance) to 1 (always)"
            )
        if self._hidden:
            return (
                f"noise hides how the classes differ ({self.classes_apart:.1f} standard deviations apart; "
                f"{BOUNDS.distinct:g} or more is distinct)"
            )
        if self._is_far:
            return f"the {many} do not lie near your domain ({far}; {BOUNDS.near:g} or less is near)"
        cosine = f"cosine {self.agreement:.2f}; {self._least_alike:g} or more is good"
        return f"the dataset's classes do not differ from each other in the same way as yours ({cosine})"

    @property
    def _apart(self) -> str:
        if self.classes_apart is None or self.confusion is None:
            return "There is only one class."
        chance = f"{self.confusion:.2g}" if self.confusion >= LEAST_SHOWN else f"less than {LEAST_SHOWN:g}"
        return (
            f"On average, two released classes lie {self.classes_apart:.1f} standard deviations of the noise apart "
            f"({BOUNDS.distinct:g} or more is distinct). The probability that noise confuses them is {chance}."
        )

    def advice(self, kind: Kind) -> str:
        """Recommend a next step in a sentence without its full stop; ``kind`` is the dataset's kind."""
        made = MODALITIES[kind]
        if self.word(kind) == "doubtful":
            if self.words_agree is not None and self.words_agree >= BOUNDS.matched:
                return f"{made.nouns.many} made from words alone cost no privacy (--method t2i); {_TEST}"
            return f"{_TEST}; {self._say_what_may_help(made)}"
        if self.word(kind) == "useful":
            return _TEST
        return made.other_provider

    def _say_what_may_help(self, made: type[Modality]) -> str:
        many = made.nouns.many
        if self._hidden:
            return f"more {many} per class or a larger epsilon reduce the noise"
        if self._is_far:
            return f"a provider that {made.verb}s your domain better would give a better dataset"
        return f"use class names that describe the {many}, or a provider that knows the classes"


_TEST = "test the dataset on your own held-out data before you rely on it"
