"""The public plan of a run: what anybody may know beforehand, and every call that follows from it.

Nothing in here is computed from private data, so two private datasets with the same public description have the
same plan, and with it the same requests in the same order.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise, takewhile
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from pcevolve.privacy import Budget, Event
from pcevolve.public import settings
from pcevolve.public.captioning import Captioner
from pcevolve.public.labels import label_faults
from pcevolve.public.library import Library
from pcevolve.public.modalities import Images, Modality, Texts, gathered, scattered
from pcevolve.public.secrecy import NOT_DP, Secrecy
from pcevolve.public.wordings import filled

TEMPLATE = "A {domain} image with {label}"
UNLABELLED_TEMPLATE = "A {domain} image"
TEXT_TEMPLATE = "Write one {domain} about {label}."
UNLABELLED_TEXT_TEMPLATE = "Write one {domain}."
IN_PROCESS = "http://in-process.invalid"
"""What a plan has for the API's address where the generator ran inside the client's own process: no host's name."""
STAGES = {"create": "i", "vary": "i", "look": "l", "extend": "x", "enlarge": "y"}

MOST_EXTENSIONS = 999
"""Of one run."""
FEWEST_WORDINGS = 2
"""Prompts of a class between which there is something to choose."""
OPENING = 8
"""Images of each class that are asked for before anything else, so that a person can look at them."""

_NAMED = 5  # labels named in one error

ExactEpsilon = Annotated[str, Field(pattern=r"^\d{1,60}(/[1-9]\d{0,59})?$")]
Purpose = Literal["create", "vary", "look", "extend", "enlarge"]


@dataclass(frozen=True)
class Call:
    """One request of the plan, before any private choice is filled in.

    Attributes:
        slot: Unique name.
        purpose: ``create`` (text-to-image), ``vary`` (a released prototype), ``look`` (lookahead: every candidate
            of a population, so that it is judged by what it would become), ``extend`` (more samples: every image
            of the last population once more) or ``enlarge`` (the same of a dataset that was released before).
        iteration: 0 for text-to-image, else the round that the images belong to, or whose release chose what is varied.
        label: Class that the images are for.
        first: Index of the first image within its class and stage.
        count: Images asked for.
        seed: Wire seed of the first image; image k uses ``seed + k`` modulo 2**32.
        strength: Image-to-image strength in [0, 1]; None for text-to-image.
        parent: For ``vary``, and for ``enlarge`` where a last release chose the dataset: which of those that it chose
            from the class.
        source: Else, but for text-to-image: id of the candidate that is varied; public.
        wording: Which of its class's ``prompts`` it is asked for with; None for the template's. In plans that vary by
            prompt, of what varies a candidate, it is filled in with the candidate's own.
        caption: Of a private image, for a run with captions (NOT PRIVATE); no call of the plan has one, and it is
            filled in from what was measured.
    """

    slot: str
    purpose: Purpose
    iteration: int
    label: str
    first: int
    count: int
    seed: int
    strength: float | None = None
    parent: int | None = None
    source: str | None = None
    wording: int | None = None
    caption: str | None = None

    def output(self, index: int) -> str:
        """Id of the ``index``-th image that the call brings."""
        stage, of_class, _ = self.slot.split("/")
        return f"{stage}-{of_class}-{self.first + index:06d}"


class Earlier(BaseModel):
    """What the ledger knew, when a run began, of releases that the same provider had seen before.

    It counts all runs with noise that had paid for something and sent it to that provider, **on whatever data**: which
    runs share images or patients is private, and a statement that depended on it would tell. So it does not say that
    any unit is in all of these runs, only what one that is in all of them bears. A run that is still under way counts
    as far as it has come; what it does later, its own statement counts.

    Attributes:
        releases: How many such runs there were.
        events: What they did, on the group of their units that changes with one unit of this run; None where that
            cannot be said: another neighbour relation, or units of another kind and no ``unit_size``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    releases: Annotated[int, Field(ge=0)] = 0
    events: tuple[Event, ...] | None = ()


class Extension(BaseModel):
    """What is asked for once a dataset is released: more variations of what is in it. No private image is asked.

    Attributes:
        more: Variations of each image; of one that was chosen twice, twice as many.
        strength: Image-to-image strength of all of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    more: Annotated[int, Field(ge=1, le=1000)]
    strength: settings.Strength

    @property
    def options(self) -> str:
        """The options of ``pcevolve extend`` that ask for just this."""
        return f"--more {self.more} --strength {self.strength!r}"


def _absent(value: object) -> bool:
    return value is None


class PublicPlan(BaseModel):
    """Everything about a run that the provider, an auditor and the reader of the result may see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["pcevolve-plan/3"] = "pcevolve-plan/3"
    run_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    run_seed: settings.PublicSeed
    api: Annotated[str, Field(pattern=r"^https?://[^@\s]+$", max_length=500)]
    dialect: str
    model: settings.Model
    method: str
    domain: settings.Domain
    labels: Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]
    prompt_template: settings.PromptTemplate = TEMPLATE
    # Of each class in the order of the labels; absent in plans of earlier versions, and where the template is all.
    prompts: Annotated[tuple[tuple[settings.Prompt, ...], ...], Field(exclude_if=operator.not_)] = ()
    modality: Modality
    candidates: settings.Candidates = 100
    initial: Annotated[
        int, Field(ge=0, le=settings.MOST_INITIAL)
    ]  # 0: a release of private images comes first
    prototypes: settings.Prototypes = 1
    lookahead: settings.Lookahead = 0
    more: settings.More = 0
    pool: settings.Pool = "latest"
    keep: settings.Keep = "last"
    appearance: settings.Appearance = "as-is"
    # Absent in plans of earlier versions.
    centre_first: Annotated[bool, Field(exclude_if=operator.not_)] = False
    threshold: settings.Threshold = 0.0
    # Absent in plans of earlier versions, and where they are nothing but usual.
    threshold_end: Annotated[settings.ThresholdEnd | None, Field(exclude_if=_absent)] = None
    votes: Annotated[settings.Votes, Field(exclude_if=lambda votes: votes == 1)] = 1
    class_counts: Annotated[settings.ClassCounts, Field(exclude_if=operator.not_)] = False
    cells: Annotated[settings.Cells | None, Field(exclude_if=_absent)] = None
    tau: Annotated[settings.Tau, Field(exclude_if=lambda tau: tau == settings.TAU)] = settings.TAU
    selection: Annotated[settings.Selection, Field(exclude_if=lambda how: how == "rank")] = "rank"
    variations: Annotated[settings.Variations, Field(exclude_if=lambda each: each == 1)] = 1
    calibration: settings.Calibration = "tight"
    iterations: Annotated[int, Field(ge=0, le=settings.MOST_ITERATIONS)] = 20  # 0: text-to-image alone
    strengths: tuple[settings.Strength, ...]  # none where nothing is varied by its image
    # Absent in plans of earlier versions, and where images are varied.
    vary_by: Annotated[settings.VaryBy, Field(exclude_if=lambda by: by == "image")] = "image"
    # Absent in plans of earlier versions, and where the provider's own images are varied. DPImg: a paid release is of
    # the private images themselves under noise, and these are what is varied. GCap: it is of captions of them, which
    # are what images are made by.
    varied: Annotated[
        Literal["received", "noised", "captioned"], Field(exclude_if=lambda of: of == "received")
    ] = "received"
    captioner: Annotated[Captioner | None, Field(exclude_if=_absent)] = None
    batch: settings.Batch = 32
    # Absent in plans of earlier versions, and where one request waits for the other.
    at_once: Annotated[settings.AtOnce, Field(exclude_if=lambda most: most == 1)] = 1
    relation: settings.Relation = "replace-one"
    unit: str = "image"
    unit_size: settings.UnitSize | None = None
    shots: settings.Shots
    # What is not there is not written down, so that plans without it stay as they were.
    subsample: Annotated[settings.Subsample | None, Field(exclude_if=operator.not_)] = None
    epsilon: ExactEpsilon
    delta: settings.Delta = 0.0
    encoder: str
    # Absent in plans of earlier versions.
    frame: Annotated[settings.Digest | None, Field(exclude_if=operator.not_)] = None
    joined_frame: Annotated[bool, Field(exclude_if=operator.not_)] = False
    weights: settings.Digest | None = None
    image_hosts: settings.ImageHosts = ()
    noise: Literal["os-csprng", "INSECURE-seeded"] = "os-csprng"
    forgets_insecure: bool = False
    # Absent in plans of earlier versions, and of every run that promises something.
    not_private: Annotated[settings.NotPrivate, Field(exclude_if=operator.not_)] = False
    not_dp: Annotated[settings.NotDp, Field(exclude_if=operator.not_)] = False
    earlier: Earlier = Earlier()
    in_turns: Annotated[bool, Field(exclude_if=operator.not_)] = False
    # What is not there is not written down, so that plans of other providers' runs stay as they were.
    library: Annotated[Library | None, Field(exclude_if=operator.not_)] = None
    # Absent without a list of secrets.
    secrecy: Annotated[Secrecy | None, Field(exclude_if=operator.not_)] = None
    # Absent in plans of earlier versions, whose cards have no front matter.
    licence: Annotated[settings.Licence | None, Field(exclude_if=operator.not_)] = None
    # No part of a plan when it is fixed: each was asked for after the dataset was released, and is on record there.
    extended: Annotated[
        tuple[Extension, ...], Field(max_length=MOST_EXTENSIONS, exclude_if=operator.not_)
    ] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.strengths) != (0 if self.prompts_alone else self.iterations):
            raise ValueError("strengths: one per iteration is needed, and none where prompts alone are sent")
        if self.varies_prompts and (self.wordings < FEWEST_WORDINGS or self._has_adapter):
            raise ValueError("vary-by: prompt needs --prompts, two at least for each class, and no --adapter")
        if (self.varied != "received") != (self.initial == 0):
            raise ValueError(
                "initial: only what private images themselves give is varied without any images before it"
            )
        if self.varied != "received":
            self._require_one_round()
        if self.varies_captions != (self.captioner is not None) or self.varies_captions > self.not_private:
            raise ValueError("captioner: captions and who made them go together, and are NOT PRIVATE")
        if isinstance(self.modality, Texts) and self.appearance != "as-is":
            raise ValueError("appearance: texts have none, so they are taken as-is")
        if faults := label_faults(self.labels):
            raise ValueError(f"labels: {'; '.join(faults[:_NAMED])}")
        if "{label}" not in self.prompt_template and len(self.labels) > 1:
            raise ValueError(
                "prompt-template: '{label}' is missing, so all classes would get the same prompt"
            )
        if self.prompts and {len(each) for each in self.prompts} != {max(self.wordings, 1)}:
            raise ValueError("prompts: every class needs as many as every other, and one at least")
        if self.prompts and (len(self.prompts) != len(self.labels) or self.wordings > self.initial):
            raise ValueError("prompts: each class needs some, and none of them more than its first images")
        if self.not_dp and self.secrecy is None:
            raise ValueError("not-dp: what would be protected is not said")
        if self.class_counts and len(self.labels) == 1:
            raise ValueError("class-counts: one class has no proportions, so its number is not asked for")
        if self.joined_frame and self.frame is None:
            raise ValueError("joined_frame: there is no frame of public images to join with the candidates")
        if self.candidates % self.prototypes:
            raise ValueError("candidates: must be a multiple of the prototypes per class")
        if self.variations > 1 and self.keep != "selected":
            raise ValueError(
                "variations: rounds larger than the dataset need a dataset that is selected from them"
            )
        if self.keep == "selected" and self.more:
            raise ValueError("more: a dataset that is selected from all rounds cannot be extended")
        if self.appearance == "auto" and self.keep != "selected":
            raise ValueError(
                "appearance: auto is settled when the dataset is selected from all rounds, as dp-means does: say "
                "matched or as-is"
            )
        return self

    def _require_one_round(self) -> None:
        """Refuse what has no meaning where what private images themselves give is varied, once.

        Raises:
            ValueError: There is something.
        """
        if isinstance(self.modality, Texts):
            raise ValueError("varied: it takes images to noise their pixels, or to say what they show")
        usual = {"iterations": 1, "lookahead": 0, "pool": "latest", "keep": "last", "appearance": "as-is"}
        if self.varies_captions:
            usual |= {"more": 0, "vary_by": "image", "prompts": ()}
        odd = next((name for name, value in usual.items() if getattr(self, name) != value), None)
        if odd is not None:
            raise ValueError(
                f"{odd}: what private images themselves give is varied in one round, without candidates before it: "
                "leave it out"
            )
        if self._has_adapter:
            raise ValueError("adapter: it takes a prototype, and this run has none: leave it out")

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, values: object) -> object:
        return gathered(values)

    @model_serializer(mode="wrap")
    def _scattered(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return scattered(write(self))

    @property
    def images(self) -> Images:
        """How images are asked for.

        Raises:
            TypeError: It is texts that are made.
        """
        if not isinstance(self.modality, Images):
            raise TypeError("a plan for texts has no settings of images")
        return self.modality

    @property
    def texts(self) -> Texts:
        """How texts are asked for.

        Raises:
            TypeError: It is images that are made.
        """
        if not isinstance(self.modality, Texts):
            raise TypeError("a plan for images has no settings of texts")
        return self.modality

    @property
    def _has_adapter(self) -> bool:
        return isinstance(self.modality, Images) and self.modality.adapter is not None

    @property
    def budget(self) -> Budget:
        """Total privacy budget of the run, exact."""
        return Budget(Fraction(self.epsilon), self.delta)

    @property
    def secure(self) -> bool:
        """Whether noise protects every unit; a run for which it does not states no ε, and ``mark`` says why."""
        return self.noise == "os-csprng" and not self.unbounded

    @property
    def unbounded(self) -> bool:
        """Whether its owner allowed, by name, that no ε bounds what the run tells."""
        return self.not_private or self.not_dp

    @property
    def mark(self) -> str:
        """The word for a run without an ε: no noise, noise from a seed, or enough for secrets alone; else empty."""
        if self.not_private:
            return "NOT PRIVATE"
        if self.noise != "os-csprng":
            return "INSECURE"
        return "NOT DP" if self.not_dp else ""

    @property
    def kept_alone(self) -> str:
        """What stands where an ε would, of a run that protects declared secrets and nothing else; else empty."""
        return NOT_DP if self.mark == "NOT DP" else ""

    @property
    def promised_secrecy(self) -> Secrecy | None:
        """What is promised of declared secrets, unless the noise came from a seed."""
        return self.secrecy if self.noise == "os-csprng" else None

    @property
    def in_process(self) -> bool:
        """Whether the generator ran inside the client's own process, so that no boundary stood around it."""
        return self.api == IN_PROCESS

    @property
    def releases(self) -> tuple[int, ...]:
        """Iterations for which something is released, in order.

        0 is the private images' appearance, 1..T are the prototypes of each round, T+1 is a dataset that is selected.
        """
        first = 1 if self.appearance == "as-is" else 0
        return tuple(range(first, self.iterations + 1 + self.selects))

    @property
    def selects(self) -> bool:
        """Whether the dataset is what a last release keeps of all rounds."""
        return self.keep == "selected"

    def threshold_at(self, iteration: int) -> float:
        """H of an iteration: of the first, of the last, or on the straight line between."""
        if self.threshold_end is None or self.iterations < 2:
            return self.threshold
        gone = min(max(iteration - 1, 0) / (self.iterations - 1), 1.0)
        return self.threshold + gone * (self.threshold_end - self.threshold)

    def wanted(self, iteration: int) -> int:
        """How many candidates of each class a release names."""
        if iteration == 0:
            return 0
        return self.prototypes if iteration <= self.iterations else self.candidates

    def prompt(self, label: str) -> str:
        """The public text prompt of a class: of all its images, or of its variations if it has ``prompts``."""
        return filled(self.prompt_template, self.domain, label)

    @property
    def wordings(self) -> int:
        """How many prompts of its own each class has for its first images; 0 if the template makes its only one."""
        return len(self.prompts[0]) if self.prompts else 0

    @property
    def varies_prompts(self) -> bool:
        """Whether variations are new images by a candidate's own prompt, so that no image is ever sent."""
        return self.vary_by == "prompt"

    @property
    def varies_noised(self) -> bool:
        """Whether what is varied is private images under noise, as a paid release has them."""
        return self.varied == "noised"

    @property
    def varies_captions(self) -> bool:
        """Whether images are made by captions of private images, as a release has them (GCap)."""
        return self.varied == "captioned"

    @property
    def prompts_alone(self) -> bool:
        """Whether no request ever carries an image: variations are new images by a prompt, or by a caption."""
        return self.varies_prompts or self.varies_captions

    def held(self, label: str, index: int) -> str:
        """Id of what a release itself holds of the ``index``-th private image of a class; no candidate has it."""
        return f"p001-c{self.labels.index(label):03d}-{index:06d}"

    def prompt_of(self, call: Call) -> str:
        """The text prompt of a call; a class's ``prompts`` share its first images equally, in order.

        It is public, but for a caption, which follows the class's public prompt: by itself it need not name the class.
        """
        if call.caption is not None:
            return f"{self.prompt(call.label)}, {call.caption}"
        if call.wording is None:
            return self.prompt(call.label)
        return self.prompts[self.labels.index(call.label)][call.wording]

    def first_prompts(self, label: str) -> tuple[str, ...]:
        """What the first images of a class are asked for with, in order."""
        return self.prompts[self.labels.index(label)] if self.prompts else (self.prompt(label),)

    def public_seed(self, *of: str | int) -> int:
        """A 32-bit seed for one public purpose: a hash of public values, never of anything private."""
        text = "/".join(str(each) for each in (self.run_seed, *of))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    def round(self, iteration: int) -> Iterator[Call]:
        """The calls that make a population, in sending order: by class, then by prototype, then by batch.

        The first population of a plan that goes ``in_turns`` is asked for a batch of each class at a time, so that the
        first few answers show all classes.
        """
        by_class = [self._of_class(iteration, label) for label in self.labels]
        in_turns = zip(*by_class, strict=True) if self.in_turns and not iteration else by_class
        return chain.from_iterable(in_turns)

    @property
    def opening(self) -> tuple[Call, ...]:
        """The first turns of a plan that goes ``in_turns``, until there are ``OPENING`` images of each class."""
        if not self.in_turns:
            return ()
        asked = accumulate(call.count for call in self._of_class(0, self.labels[0]))
        turns = 1 + sum(1 for _ in takewhile(lambda images: images < min(OPENING, self.initial), asked))
        return tuple(islice(self.round(0), turns * len(self.labels)))

    def _of_class(self, iteration: int, label: str) -> Iterator[Call]:
        for part, (start, stop) in enumerate(pairwise(self._parts(iteration))):
            opens = self.in_turns and not iteration and start < OPENING
            for first, count in self._batches(start, stop, opens):
                yield self._call(
                    "vary" if iteration else "create",
                    iteration,
                    label,
                    first,
                    count,
                    strength=self._strength(iteration) if iteration else None,
                    parent=part if iteration else None,
                )

    def _parts(self, iteration: int) -> range | list[int]:
        """Where the images of each prototype, or at first of each prompt, begin in a class; and how many there are."""
        if iteration:
            size = self.candidates * self.variations
            return range(0, size + 1, size // self.prototypes)
        wordings = max(self.wordings, 1)
        return [-(-part * self.initial // wordings) for part in range(wordings + 1)]

    def _batches(self, first: int, stop: int, opens: bool = False) -> Iterator[tuple[int, int]]:
        """Index of each batch's first image, and how many it has; one that opens a run has few."""
        while first < stop:
            count = min(self.batch, stop - first, OPENING if opens else stop)
            yield first, count
            first, opens = first + count, opens and first + count < OPENING

    def lookaheads(self, iteration: int) -> Iterator[Call]:
        """Lookahead on a population: ``lookahead`` variations of every candidate, in public order."""
        if self.lookahead and iteration < self.iterations:
            yield from self._echoes("look", iteration, self.lookahead, self._strength(iteration + 1))

    def extensions(self) -> Iterator[Call]:
        """More samples: ``more`` variations of every image of the last population, in public order."""
        if self.more and self.iterations:
            yield from self._echoes("extend", self.iterations, self.more, self._strength(self.iterations))

    def enlargements(self) -> Iterator[Call]:
        """The calls of all extensions, in the order in which they were asked for."""
        for number, extension in enumerate(self.extended, 1):
            yield from self.enlargement(number, extension)

    def enlargement(self, number: int, extension: Extension) -> Iterator[Call]:
        """The calls of an extension: variations of what the last release chose, or of every image of the last round.

        Args:
            number: Which extension of the run it is, from 1.
            extension: How many, and how different.
        """
        if not self.selects:
            yield from self._echoes("enlarge", self.iterations, extension.more, extension.strength, number)
            return
        for label in self.labels:
            for parent in range(self.candidates):
                start = parent * extension.more
                for first, count in self._batches(start, start + extension.more):
                    yield self._call(
                        "enlarge",
                        self.releases[-1],
                        label,
                        first,
                        count,
                        strength=extension.strength,
                        parent=parent,
                        number=number,
                    )

    def extended_by(self, extensions: Iterable[Extension]) -> Self:
        """This plan, with all that was asked for after its dataset was released."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, "extended": tuple(extensions)})

    def _echoes(
        self, purpose: Purpose, iteration: int, copies: int, strength: float | None, number: int | None = None
    ) -> Iterator[Call]:
        """``copies`` variations of every image of a population."""
        places: dict[str, int] = dict.fromkeys(self.labels, 0)
        for call in self.round(iteration):
            for index in range(call.count):
                start = places[call.label]
                places[call.label] += copies
                for first, count in self._batches(start, start + copies):
                    yield self._call(
                        purpose,
                        iteration,
                        call.label,
                        first,
                        count,
                        strength=strength,
                        source=call.output(index),
                        number=number,
                    )

    def _call(
        self,
        purpose: Purpose,
        iteration: int,
        label: str,
        first: int,
        count: int,
        strength: float | None = None,
        parent: int | None = None,
        source: str | None = None,
        number: int | None = None,
    ) -> Call:
        stage = f"{STAGES[purpose]}{iteration if number is None else number:03d}"
        place = self.labels.index(label)
        slot = f"{stage}/c{place:03d}/n{first:06d}"
        seed = self.public_seed(stage, place, first)
        own = purpose == "create" and self.prompts
        wording = first * self.wordings // self.initial if own else None
        strength = None if self.prompts_alone else strength
        return Call(slot, purpose, iteration, label, first, count, seed, strength, parent, source, wording)

    def _strength(self, iteration: int) -> float | None:
        """Of a round's variations; None where prompts alone are sent."""
        return None if self.prompts_alone else self.strengths[iteration - 1]

    @cached_property
    def calls(self) -> dict[str, Call]:
        """Every call of the run by slot, in sending order."""
        made = [call for t in range(self.iterations + 1) for call in (*self.round(t), *self.lookaheads(t))]
        return {call.slot: call for call in (*made, *self.extensions(), *self.enlargements())}
