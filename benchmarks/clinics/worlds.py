"""Private images of several owners, and a provider's candidates for them: drawn once a seed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.library.__main__ import gather
from benchmarks.library.judges import RememberingEncoder, voter
from benchmarks.library.trial import FromLibrary, library
from benchmarks.private_sets import DATA, say_nothing, whole
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import make_plan, model
from pcevolve.app.first.demo import OF_IMAGES
from pcevolve.keeper.private.bundled import load_cells
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.config.data_source import CellsSource, parse_source
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.modality import Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.selectors.choosing import Chooser, Rendition
from pcevolve.public.selectors.method import Method

CELLS, XRAY = "cells", "xray"
XRAYS = "xray:normal,pneumonia"
SUBJECT = {CELLS: "blood smear", XRAY: "chest x-ray"}
MOST = {CELLS: 40, XRAY: 80}
"""Private images of a class; the rest is tested on."""
SHOTS, CANDIDATES, POOL = 10, 20, 4
"""Of an owner and class; of a dataset and class; candidates, in multiples of these."""


@dataclass(frozen=True)
class Seed:
    """A draw of private images and of the provider's; what was made and embedded stays.

    Attributes:
        private: Of all owners.
        tested: Held out.
    """

    world: str
    number: int
    generator: LocalGenerator
    eyes: RememberingEncoder
    private: PrivateDataset
    tested: PrivateDataset
    plan: PublicPlan
    method: Method
    embedded: dict[tuple[str, Rendition], FloatArray] = field(default_factory=dict)

    def split(self, owners: int) -> list[PrivateDataset]:
        """The images of each owner: ten of a class, or an equal part of all that there are."""
        each = min(SHOTS, MOST[self.world] // owners)
        of_class = [self.private.indices_of(label) for label in self.private.labels]
        return [
            self.private.subset(np.concatenate([rows[place * each :][:each] for rows in of_class]))
            for place in range(owners)
        ]

    def join(self, owners: int) -> PrivateDataset:
        """The images of so many owners together."""
        most = min(SHOTS * owners, MOST[self.world])
        rows = [self.private.indices_of(label)[:most] for label in self.private.labels]
        return self.private.subset(np.concatenate(rows))

    def chooser(self, plan: PublicPlan) -> Chooser:
        """The public half of a selection, which knows what was embedded before."""
        selector = self.method.make_selector()
        return Chooser(plan, self.eyes, self.generator.received, selector, self.embedded)

    def change_plan(self, epsilon: str, shots: int, clinics: Clinics | None = None) -> PublicPlan:
        """The plan for so many private images of a class."""
        written = self.plan.model_dump()
        changes = {
            "data": {**written["data"], "shots": shots},
            "privacy": {**written["privacy"], "epsilon": str(Fraction(epsilon))},
            **({} if clinics is None else {"clinics": clinics.model_dump(), "noise": "os-csprng"}),
        }
        return PublicPlan.model_validate({**written, **changes})


@cache
def begin(world: str, number: int, work: Path) -> Seed:
    """Draw a seed; candidates are made once somebody looks."""
    private, tested = map(say_nothing, _draw(world, number))
    # Which of the images are whose, by chance: a split leaves them in their files' order.
    private = private.subset(np.random.default_rng(number).permutation(len(private)))
    own, side = OF_IMAGES.options, 64 if world == CELLS else 128
    # A library takes no steps, and does not mind being asked for some.
    asked = Images(guidance=own["guidance"], steps=own["steps"], width=side, height=side)
    trial = Trial(world, "dp-means", "1", SHOTS, number, candidates=CANDIDATES, initial=POOL)
    trial = replace(trial, iterations=0, appearance="as-is")
    plan, method = make_plan(trial, private.labels, asked, SUBJECT[world])
    if world == CELLS:
        generator = LocalGenerator(plan, model(), None)
    else:
        shelves = library(gather(Path(os.environ[DATA]), work), work / "cache")
        generator = FromLibrary(plan, shelves, None)
    return Seed(world, number, generator, voter("bundled"), private, tested, plan, method)


def _draw(world: str, seed: int) -> tuple[PrivateDataset, PrivateDataset]:
    if world == XRAY:
        return whole(XRAYS).split(MOST[XRAY], seed)
    source = parse_source(str(OF_IMAGES.options["private"]))
    assert isinstance(source, CellsSource)
    return load_cells(MOST[CELLS], source.names, seed)
