"""The public plan of a run: what anybody may know beforehand, and every call that follows from it.

Nothing in here is computed from private data, so two private datasets with the same public description have the
same plan, and with it the same requests in the same order (design.md, section 4, rule 2).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

TEMPLATE = "A {domain} image with {label}"

Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]*$")]
ExactEpsilon = Annotated[str, Field(pattern=r"^\d{1,60}(/[1-9]\d{0,59})?$")]
Relation = Literal["replace-one", "add-remove"]


@dataclass(frozen=True)
class Call:
    """One request of the plan, before any private choice is filled in.

    Attributes:
        slot: Unique name; also the order of sending.
        iteration: 0 for text-to-image, 1..T for variations.
        label: Class that the images are for.
        first: Index of the first image within its class and iteration.
        count: Images asked for.
        seed: Wire seed of the first image; image k uses ``seed + k`` modulo 2**32.
        strength: Image-to-image strength in [0, 1]; None for text-to-image.
        parent: Which of the class's released prototypes is varied; None for text-to-image.
    """

    slot: str
    iteration: int
    label: str
    first: int
    count: int
    seed: int
    strength: float | None = None
    parent: int | None = None


class PublicPlan(BaseModel):
    """Everything about a run that the provider, an auditor and the reader of the result may see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["pcevolve-plan/1"] = "pcevolve-plan/1"
    run_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    run_seed: Annotated[int, Field(ge=0, lt=2**32)]
    api: Annotated[str, Field(pattern=r"^https?://[^@\s]+$", max_length=500)]
    dialect: str
    model: Annotated[str, Field(min_length=1, max_length=200)]
    method: str
    domain: Annotated[str, Field(min_length=1, max_length=200)]
    labels: Annotated[tuple[Label, ...], Field(min_length=2, max_length=1000)]
    prompt_template: Annotated[str, Field(max_length=1000)] = TEMPLATE
    negative_prompt: Annotated[str, Field(max_length=1000)] = ""
    candidates: Annotated[int, Field(ge=1, le=10_000)] = 100
    prototypes: Annotated[int, Field(ge=1, le=10_000)] = 1
    iterations: Annotated[int, Field(ge=0, le=1000)] = 20
    strengths: tuple[Annotated[float, Field(ge=0, le=1)], ...]
    guidance: Annotated[float, Field(ge=0, le=50)] = 7.5
    steps: Annotated[int, Field(ge=1, le=150)] = 50
    width: Annotated[int, Field(ge=8, le=4096)]
    height: Annotated[int, Field(ge=8, le=4096)]
    batch: Annotated[int, Field(ge=1, le=64)] = 32
    relation: Relation = "replace-one"
    unit: str = "image"
    shots: Annotated[int, Field(ge=1)]
    epsilon: ExactEpsilon
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    encoder: str
    noise: Literal["os-csprng", "INSECURE-seeded"] = "os-csprng"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.strengths) != self.iterations:
            raise ValueError("strengths: one per iteration is needed")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("labels: two classes have the same name")
        if "{label}" not in self.prompt_template:
            raise ValueError(
                "prompt_template: '{label}' is missing, so all classes would get the same prompt"
            )
        if self.candidates % self.prototypes:
            raise ValueError("candidates: must be a multiple of the prototypes per class")
        return self

    @property
    def epsilon_budget(self) -> Fraction:
        """Total pure-DP budget of the run, exact."""
        return Fraction(self.epsilon)

    def prompt(self, label: str) -> str:
        """The public text prompt of a class."""
        words = {"domain": self.domain, "label": label}
        return re.sub(r"\{(domain|label)\}", lambda match: words[match[1]], self.prompt_template)

    def image_seed(self, iteration: int, label: str, first: int) -> int:
        """Wire seed of a call: a hash of public values, never of anything private."""
        text = f"{self.run_seed}/{iteration}/{self.labels.index(label)}/{first}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    def round(self, iteration: int) -> Iterator[Call]:
        """The calls of one iteration, in sending order: by class, then by prototype, then by batch."""
        share = self.candidates // (self.prototypes if iteration else 1)
        for index, label in enumerate(self.labels):
            for start in range(0, self.candidates, share):
                for first in range(start, start + share, self.batch):
                    yield Call(
                        slot=f"i{iteration:03d}/c{index:03d}/n{first:05d}",
                        iteration=iteration,
                        label=label,
                        first=first,
                        count=min(self.batch, start + share - first),
                        seed=self.image_seed(iteration, label, first),
                        strength=self.strengths[iteration - 1] if iteration else None,
                        parent=start // share if iteration else None,
                    )

    @cached_property
    def calls(self) -> dict[str, Call]:
        """Every call of the run by slot, in sending order."""
        return {call.slot: call for t in range(self.iterations + 1) for call in self.round(t)}
