"""How large the runs of a table are: the sizes of ``--smoke`` and ``--full``, a paper's own, and what a person says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.public import settings
from pcevolve.public.config.options import Setting
from pcevolve.public.config.providers import MaxCost, Price
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors import METHODS, Scope
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.tables.table import Original

USUAL_EPSILON = "10"
PAPER = "paper"
"""What the sizes of a paper's own runs are called."""
ALL = 10**9
"""More held-out images of a class than there are."""


@dataclass(frozen=True)
class DatasetFacts:
    """Facts that a table has to know of a row's method: the client's, or a baseline.

    Attributes:
        base: The client's method that it is, or whose plan it has.
        foreign: Options that mean nothing to it.
        looks: Whether private images have a say.
        paid: Whether they have it under noise, for an ε.
        ends_in_its_dataset: Whether its last round is the dataset, so that it makes as many rounds as it is told.
        counts: Whether it counts votes.
        rounds: How many it makes, of a baseline that makes no other number; None where a method or a person says.
    """

    base: str
    foreign: frozenset[str]
    looks: bool
    paid: bool
    ends_in_its_dataset: bool
    counts: bool = False
    rounds: int | None = None

    @classmethod
    def of(cls, name: str) -> DatasetFacts:
        """The facts of a method or a baseline, by its name."""
        baseline = BASELINES.get(name)
        method = METHODS[name if baseline is None else baseline.base]
        everybodys = frozenset[str]().union(
            *(each.own_options for each in METHODS.values()), *(each.own for each in BASELINES.values())
        )
        foreign = everybodys - method.own_options - (frozenset() if baseline is None else baseline.own)
        if baseline is not None:
            rounds = None if baseline.evolves else int(method.varies)
            return cls(method.name, foreign, baseline.looks, baseline.paid, baseline.evolves, rounds=rounds)
        looks = method.selector is not None
        ends = method.varies and method.keep == "last"
        return cls(name, foreign, looks, looks, ends, "class_counts" in method.own_options)

    def iterations(self, wanted: int | None, budget: Budget, scope: Scope) -> int:
        """T: what is wanted, or the method's own."""
        if self.rounds is not None:
            return self.rounds
        told = wanted if self.ends_in_its_dataset else None
        return METHODS[self.base].iterations(told, budget, scope)


@dataclass(frozen=True)
class TableScale:
    """How large the runs of a table are, where its rows and columns do not say.

    Attributes:
        name: What it is called.
        candidates: Images per class, N.
        shots: Private images per class, K.
        rounds: Most rounds of methods whose last round is the dataset; None for their own.
        seeds: Draws of shots, prompts' seeds and noise.
        tested: Most held-out images of each class.
        heads: Heads that each judge trains.
        columns: Most columns of a table.
    """

    name: str
    candidates: int
    shots: int
    rounds: int | None
    seeds: int
    tested: int
    heads: int = 3
    columns: int | None = None

    def of_paper(self, original: Original) -> TableScale:
        """The sizes of a paper's own runs, tested on all that is held out."""
        return replace(
            self,
            name=PAPER,
            candidates=original.candidates,
            shots=original.shots,
            rounds=original.rounds,
            tested=ALL,
        )


SMOKE = TableScale("smoke", candidates=10, shots=5, rounds=2, seeds=1, tested=60, heads=1, columns=2)
FULL = TableScale("full", candidates=100, shots=10, rounds=None, seeds=3, tested=1000)


class Sizes(BaseModel):
    """Settings that a person gives of a table's runs; columns that are about the same thing go before them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: settings.Epsilon | None = None
    delta: settings.Delta | None = None
    candidates: settings.Candidates | None = None
    subsample: settings.Subsample | None = None
    iterations: Annotated[
        settings.Iterations | None,
        Field(
            description="Iterations T of methods whose last generation is the dataset; their own if not given."
        ),
    ] = None
    lookahead: settings.Lookahead | None = None
    tested: (
        Annotated[
            int,
            Field(
                ge=1,
                description="Most held-out images of each class; 60, 1000, or all, by the size, if not given.",
            ),
            Setting(),
        ]
        | None
    ) = None
    captioner: Annotated[
        str | None,
        Field(
            description="Who captions images for GCap: attributes (measured, without a model), or an image-to-text "
            "model by directory or hub's id."
        ),
        Setting(),
    ] = None
    max_cost: Annotated[
        MaxCost | None,
        Field(
            description="Most that one run of the table may cost; before it begins it says how many there are."
        ),
    ] = None
    price: Price | None = None

    def scale(self, scale: TableScale) -> TableScale:
        """A size with what is said in place of its own."""
        said: dict[str, Any] = {
            "candidates": self.candidates,
            "shots": self.subsample,
            "rounds": self.iterations,
            "tested": self.tested,
        }
        return replace(scale, **{name: value for name, value in said.items() if value is not None})

    @property
    def selecting(self) -> dict[str, Any]:
        """Options of every run that has them among its own, and of those that every run has."""
        said = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lookahead": self.lookahead,
            "captioner": self.captioner,
        }
        return {name: value for name, value in said.items() if value is not None}

    @property
    def spending(self) -> dict[str, Any]:
        """Bounds on what a run may cost, of which no result depends."""
        said = {"max_cost": self.max_cost, "price": self.price}
        return {name: value for name, value in said.items() if value is not None}
