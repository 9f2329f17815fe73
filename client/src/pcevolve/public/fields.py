"""The fields of a public plan, and values derived from them. ``plan`` checks which fields may be combined."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Final, Literal, Never, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pcevolve.public import requests, settings
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.config.declared import settled
from pcevolve.public.methods import METHOD_TABLE, CountedVotes, PrivateEvolution, VariedEvolution
from pcevolve.public.modality import MODALITIES, AnyModality, Images, Texts, images_of, texts_of
from pcevolve.public.parts import Confinement, Exact, Library, PriorReleases, Secrecy, Start
from pcevolve.public.privacy import Budget
from pcevolve.public.words import fill, put_in_one_line

_WITHOUT_WORDS = {each.template: each.unlabelled_template for each in MODALITIES.values()}
FEWEST = 2
"""Smallest number of candidates per class among which there is a choice."""
PLAN_FORMAT: Final = 1
"""Version of the plan's format. It is raised with every change that another version could misread."""


class PlanData(settings.DataSettings):
    """The public facts about the private data.

    Attributes:
        words: For each class, the words that prompts use, if they differ from its label.
    """

    words: tuple[settings.Words, ...] = ()


@settled
class PlanPrivacy(settings.PrivacySettings[Never]):
    """The budget of a run."""


@settled
class PlanProvider(requests.ProviderSettings[Never]):
    """The API and the settings of its requests.

    Attributes:
        prompts: The prompts of each class; empty if the template gives the only prompt.
    """

    prompts: tuple[tuple[requests.Prompt, ...], ...] = ()


class PlanEncoder(settings.Section):
    """The encoder.

    Attributes:
        name: Empty if no encoder embeds private data.
        weights: SHA-256 of the encoder's weights.
        frame: SHA-256 of the file of the public frame, which is joined with the candidates.
    """

    name: str = ""
    weights: settings.Digest | None = None
    frame: settings.Digest | None = None


if TYPE_CHECKING:
    AnyPlanMethod: TypeAlias = settings.MethodSettings[Never]
else:
    _PARTS = {own: settled(own) for own in {each.parameters for each in METHOD_TABLE.values()}}

    def _tag(value: object) -> str:
        name = value.get("name") if isinstance(value, Mapping) else value.name
        entry = METHOD_TABLE.get(name)
        return (settings.MethodSettings[None] if entry is None else entry.parameters).__name__

    AnyPlanMethod = Annotated[
        reduce(or_, (Annotated[part, Tag(own.__name__)] for own, part in _PARTS.items())),
        Discriminator(_tag),
    ]
    """A plan's method with the parameters that it has, and no others."""


class PlanFields(BaseModel):
    """The fields of a plan, and values that follow directly from them. Use ``PublicPlan``, which extends this class."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1]
    run_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    data: PlanData
    privacy: PlanPrivacy
    method: AnyPlanMethod
    provider: PlanProvider
    encoder: PlanEncoder = PlanEncoder()
    labels: Annotated[tuple[str, ...], Field(min_length=1, max_length=settings.MOST_CLASSES)]
    modality: AnyModality
    centre_first: bool = False
    unit: str = "image"
    namespaced: bool = False  # True: the owner claims that units of these names have no data elsewhere
    noise: Literal["os-csprng", "INSECURE-seeded"] = "os-csprng"
    earlier: PriorReleases = PriorReleases()
    library: Library | None = None
    exact: Annotated[Exact | None, Field(exclude_if=lambda value: value is None)] = (
        None  # as the provider states it
    )
    confinement: Annotated[Confinement | None, Field(exclude_if=lambda value: value is None)] = None
    clinics: Annotated[Clinics | None, Field(exclude_if=lambda value: value is None)] = None
    start: Start | None = None
    secrecy: Secrecy | None = None
    output: settings.ReleaseSettings = settings.ReleaseSettings()

    @property
    def images(self) -> Images:
        """Image settings (``TypeError`` if the run makes texts)."""
        return images_of(self.modality)

    @property
    def texts(self) -> Texts:
        """Text settings (``TypeError`` if the run makes images)."""
        return texts_of(self.modality)

    @property
    def has_adapter(self) -> bool:
        """True if variations also use a prototype as an image prompt."""
        return self.modality.has_adapter

    @property
    def budget(self) -> Budget:
        """The total privacy budget of the run, exact."""
        return Budget(Fraction(self.privacy.epsilon), self.privacy.delta)

    @property
    def secure(self) -> bool:
        """True if noise protects every unit. A run with seeded noise is INSECURE and states no ε."""
        return self.noise == "os-csprng"

    @property
    def promised_secrecy(self) -> Secrecy | None:
        """The promise about declared secrets; None for seeded noise."""
        return self.secrecy if self.secure else None

    @property
    def noise_factor(self) -> float:
        """Standard deviation of a release's noise, relative to the noise that its events assume; 1 for one owner."""
        return 1.0 if self.clinics is None else self.clinics.noise_factor

    @property
    def releases(self) -> tuple[int, ...]:
        """Iterations that make a release, in order.

        Iteration 0 releases the private images' appearance. Iterations 1..T release each round's prototypes. Iteration
        T+1 selects the dataset.
        """
        first = 1 if self.method.appearance == "as-is" else 0
        return tuple(range(first, self.method.iterations + 1 + self.selects))

    @property
    def variations(self) -> int:
        """Number of variations in a round for each item of the dataset."""
        return self.method.of(VariedEvolution).variations or 1

    @property
    def class_counts(self) -> bool:
        """True if noisy class sizes are released."""
        return self.method.of(PrivateEvolution).class_counts

    @property
    def selects(self) -> bool:
        """True if a last release selects the dataset from all rounds."""
        return self.method.keep == "selected"

    def threshold_at(self, iteration: int) -> float:
        """Return the threshold H of an iteration, interpolated linearly between the first and the last iteration."""
        own = self.method.of(CountedVotes)
        first, last = own.threshold, own.threshold_end
        if last is None or self.method.iterations < 2:
            return first
        gone = min(max(iteration - 1, 0) / (self.method.iterations - 1), 1.0)
        return first + gone * (last - first)

    def wanted(self, iteration: int) -> int:
        """Return the number of candidates that a release chooses from each class."""
        if iteration == 0:
            return 0
        return self.method.prototypes if iteration <= self.method.iterations else self.method.candidates

    def count_needed(self, sent: int, fewest: int = FEWEST) -> int:
        """Return how many of ``sent`` candidates of a class must be usable and distinct."""
        return min(sent, max(fewest, math.ceil(Fraction(str(self.method.min_usable)) * sent)))

    def prompt(self, label: str) -> str:
        """Return the public prompt of a class. If the class has ``prompts``, only variations use its public prompt."""
        words = self.data.words[self.labels.index(label)] if self.data.words else label
        if words:
            return fill(self.provider.prompt_template, self.data.domain, words)
        template = _WITHOUT_WORDS.get(self.provider.prompt_template, self.provider.prompt_template)
        return put_in_one_line(
            fill(template, self.data.domain, words)
        )  # a user's template leaves a gap for the missing words

    @property
    def wordings(self) -> int:
        """Number of prompts for the first images of each class; 0 if the template gives the only prompt."""
        return len(self.provider.prompts[0]) if self.provider.prompts else 0

    @property
    def varies_prompts(self) -> bool:
        """True if a variation is a new image from its candidate's prompt, so that no image is ever sent."""
        return self.method.vary_by == "prompt"

    @property
    def keeps_prompts(self) -> bool:
        """True if a variation uses the prompt of its source instead of the template."""
        return self.varies_prompts or self.method.vary_with == "own prompt"

    @property
    def grades_variations(self) -> bool:
        """True if requests set the degree of variation."""
        return self.modality.is_graded and not self.varies_prompts

    def first_prompts(self, label: str) -> tuple[str, ...]:
        """Return the prompts of the first images of a class, in order."""
        return (
            self.provider.prompts[self.labels.index(label)]
            if self.provider.prompts
            else (self.prompt(label),)
        )

    def public_seed(self, *of: str | int) -> int:
        """Return a 32-bit seed for one public purpose, a hash of public values alone."""
        text = "/".join(str(each) for each in (self.provider.seed, *of))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
