"""Sections of the report: how images were asked for, what lies beside it, and the protection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log10

from pcevolve.dp.secrecy import most_success, secret_budget
from pcevolve.pages.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from pcevolve.pages.report.sheets import Row, dataset_row
from pcevolve.pages.report.source import FinishedRun
from pcevolve.public.modality import Said
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan


def settings_of(plan: PublicPlan) -> Said:
    """The settings of a plan beside its prompts, in words."""
    made = plan.modality
    return [
        *made.beside_prompts,
        ("Model", plan.model),
        ("Address", plan.api),
        ("Dialect", plan.dialect),
        *made.said,
        ("Candidates per class", plan.candidates),
        ("Prototypes per class", plan.prototypes),
        (f"{plan.modality.kind.capitalize()}s per request, at most", plan.batch),
        ("Encoder", plan.encoder),
        ("Seed of the public schedule", plan.run_seed),
        ("Run", plan.run_id),
    ]


SHOWN = 6
"""Of each class and run."""


@dataclass(frozen=True)
class Beside:
    """One class.

    Attributes:
        label: Of the class.
        rows: Some of each run's dataset, run by run.
    """

    label: str
    rows: tuple[Row, ...]


def beside(runs: Mapping[str, FinishedRun]) -> list[Beside]:
    """Some of each run's dataset, class by class; nothing where there is nothing to compare with.

    Args:
        runs: By what each is called; all of the same classes.

    Raises:
        TranscriptError: A stored answer is missing or was changed.
    """
    labels = next(iter(runs.values())).plan.labels if len(runs) > 1 else ()
    return [
        Beside(label, tuple(dataset_row(run, label, name, SHOWN) for name, run in runs.items()))
        for label in labels
    ]


DECADES = 6
"""From a guess that is right in one of a million cases."""
STEPS = 8
"""Points of a curve in a decade."""


@dataclass(frozen=True)
class Protection:
    """Both axes are logarithmic, in SVG units.

    Attributes:
        secrecy: What is promised.
        guess: The line of somebody who did not see the run.
        after: The curve of somebody who did, at most.
        across: Ticks of the horizontal axis: place and power of ten.
        up: Those of the vertical one.
        rows: For a table: prior and bound.
        mark: Where the promise lies.
    """

    secrecy: Secrecy
    guess: str
    after: str
    across: tuple[tuple[float, int], ...]
    up: tuple[tuple[float, int], ...]
    rows: tuple[tuple[float, float], ...]
    mark: tuple[float, float]

    @classmethod
    def of(cls, secrecy: Secrecy) -> Protection:
        """Draw it."""
        mu = secret_budget(secrecy.prior, secrecy.bound)
        powers = [-place / STEPS for place in range(DECADES * STEPS, 0, -1)]
        bounds = {power: most_success(mu, 10.0**power) for power in powers}
        whole = range(-DECADES, 1)
        return cls(
            secrecy=secrecy,
            guess=_path((10.0**power, 10.0**power) for power in powers),
            after=_path((10.0**power, bound) for power, bound in bounds.items()),
            across=tuple((_x(10.0**power), power) for power in whole),
            up=tuple((_y(10.0**power), power) for power in whole),
            rows=tuple((10.0**power, most_success(mu, 10.0**power)) for power in whole[:-1]),
            mark=(_x(secrecy.prior), _y(secrecy.bound)),
        )


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_x(prior)},{_y(bound)}" for prior, bound in points)


def _x(prior: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * _share(prior), 1)


def _y(bound: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(bound), 1)


def _share(probability: float) -> float:
    """Of the axis's length; what is rarer than its beginning lies there."""
    return max(0.0, 1 + log10(probability) / DECADES)
