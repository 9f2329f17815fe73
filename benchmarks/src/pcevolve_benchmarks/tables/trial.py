"""One run of a table and what judges say of it; carried out in a process of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from pcevolve.app.session.preflight import check_run
from pcevolve.keeper.evaluation.closeness import FEWEST, measure_closeness
from pcevolve.keeper.evaluation.heads import Predict, Training
from pcevolve.keeper.evaluation.judge import Evaluator, find_usable
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.finished.classification import NearestMean
from pcevolve.keeper.finished.outcome import Outcome
from pcevolve.keeper.kind import read_run
from pcevolve.public.config.config import RunConfig
from pcevolve.public.encoders import load_encoder
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.run.progress import Audience
from pcevolve_benchmarks.baselines.catalogue import BASELINES
from pcevolve_benchmarks.heads import PapersHead
from pcevolve_benchmarks.runner import BenchResult, run, settings_of
from pcevolve_benchmarks.tables.cells import Cell, CellFigure
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.judges import (
    HeldOut,
    embed_held_out,
    has_embeddings,
    load_held_out,
    load_table_judges,
)
from pcevolve_benchmarks.tables.outcomes import (
    distances,
    estimate_intrinsic_dimension,
    measure_noise_on_votes,
    populations,
    spread,
)
from pcevolve_benchmarks.tables.table import RUNLESS, Measure
from pcevolve_benchmarks.tables.wide import WideNetwork, ensemble
from pcevolve_benchmarks.together import execute

NEAREST_MEAN = "nearest mean"


@dataclass(frozen=True)
class Job:
    """One run, and the cells that it fills.

    Attributes:
        cells: They share the run; not empty.
        data: The images.
        root: Folder of the run.
        connection: Options of how to reach the API that are no part of what the cells depend on.
        judges: As ``pcevolve evaluate`` takes them.
        measures: What is asked of each judge.
    """

    cells: tuple[Cell, ...]
    data: BenchData
    root: Path
    connection: Mapping[str, Any]
    judges: tuple[str, ...]
    measures: frozenset[Measure]

    @property
    def heads(self) -> int:
        """How many heads each judge trains."""
        return self.cells[0].heads

    @property
    def is_baseline(self) -> bool:
        """True if the run is a baseline's, without a gate."""
        return self.options["method"] in BASELINES

    @property
    def options(self) -> dict[str, Any]:
        """The options of the run; its ledger is its own, because the images are public."""
        return {
            **self.cells[0].settings(),
            **self.connection,
            "private": str(self.data.train),
            "ledger": self.root.with_name(f"{self.root.name}-private") / "ledger.sqlite",
            "pad_selection": 0.0,
            "yes": True,
        }

    @property
    def settings(self) -> RunConfig:
        """The options of the run as the client has them."""
        if self.is_baseline:
            return settings_of(self.options, self.root)
        return RunConfig.of({**self.options, "out": self.root})


Found = list[tuple[Cell, list[CellFigure]]]
"""What was measured of each cell."""


def carry_out_job(job: Job) -> Found:
    """Make the run, or the rest of it, and ask the judges.

    Raises:
        ClientError: Why it could not be done.
    """
    ran = any(cell.yardstick not in RUNLESS for cell in job.cells)
    outcome = _run(job) if ran else None
    return [
        (cell, list(_figures(job, cell, None if cell.yardstick in RUNLESS else outcome)))
        for cell in job.cells
    ]


def _run(job: Job) -> Outcome | BenchResult:
    if job.is_baseline:
        return run(job.options, job.root)
    settings = job.settings
    owner = OwnerFolder.find(job.root, settings.privacy.ledger)
    began = None if owner is None else owner.find_options()
    if began is not None and RunFolder(job.root).finished:
        settings = began
    elif began is not None and _way(began) != _way(settings):
        shutil.rmtree(job.root)  # begun with a server of this machine that is gone, or by another way
    return execute(check_run(settings, resume=True), Audience(Console(quiet=True)))


def _way(settings: RunConfig) -> tuple[object, ...]:
    """How the API is reached: a run goes on by the way that it began with."""
    provider = settings.provider
    return provider.api, provider.greeting, provider.ca_file, provider.proxy


def _figures(job: Job, cell: Cell, outcome: Outcome | BenchResult | None) -> Iterator[CellFigure]:
    """Everything that is measured of a cell."""
    test = load_held_out(job.data, cell.tested)
    if cell.yardstick == "classifier":
        yield CellFigure(NEAREST_MEAN, True, "accuracy", _by_means(job.root, test))
        return
    if cell.yardstick == "untrained":
        yield from _of_untrained(job, cell, test)
        return
    shots = Labelled.of(read_run(job.settings).data)
    labels = test.labels
    dataset, voter = _dataset(outcome, shots, labels)
    for judge in load_table_judges(job.judges, voter):
        real = embed_held_out(judge.name, job.data, cell.tested)
        seen = judge.look(dataset.images)
        for name, value in _ask(job, judge, (seen, dataset.targets), real, test, shots, outcome):
            yield CellFigure(judge.name, judge.voted, name, value)


def _dataset(
    outcome: Outcome | BenchResult | None, shots: Labelled, labels: Sequence[str]
) -> tuple[Labelled, str | None]:
    """Return the dataset that is judged, and the encoder that selected it, if one did."""
    if outcome is None:
        return shots, None
    if isinstance(outcome, BenchResult):
        return outcome.dataset(labels), outcome.voter
    compared = outcome.components.method.queries_data
    return Labelled.released(outcome.folder.root, labels), outcome.plan.encoder.name if compared else None


def _of_untrained(job: Job, cell: Cell, test: HeldOut) -> Iterator[CellFigure]:
    """Judge heads before they are trained: the papers' Init."""
    for judge in load_table_judges(job.judges, None):
        real = embed_held_out(judge.name, job.data, cell.tested)
        shapes = Training(real, test.targets, len(test.labels))
        # Nothing is trained, so a seed of a cell shows in the first weights alone.
        heads = [judge.untrained(shapes, cell.heads * cell.seed + seed) for seed in range(cell.heads)]
        yield CellFigure(judge.name, False, "accuracy", _right(heads, real, test))


Seen = tuple[NDArray[np.floating], NDArray[np.int64]]


def _ask(
    job: Job,
    judge: Evaluator,
    own: Seen,
    real: NDArray[np.floating],
    test: HeldOut,
    shots: Labelled,
    outcome: Outcome | BenchResult | None,
) -> Iterator[tuple[str, float]]:
    """Ask one judge, by name."""
    heads = _train(judge, own, test, job.heads).heads
    yield "accuracy", _right(heads, real, test)
    if networks := [head for head in heads if isinstance(head, WideNetwork)]:
        yield "ensemble", float(np.mean(ensemble(networks, real) == test.targets))
    if "mixed" in job.measures and outcome is not None:
        looked = judge.look(shots.images)
        both = np.concatenate([looked, own[0]]), np.concatenate([shots.targets, own[1]])
        yield "mixed", _right(_train(judge, both, test, job.heads).heads, real, test)
    if "fid" in job.measures and has_embeddings(judge.name) and len(own[0]) >= FEWEST:
        yield "fid", measure_closeness(np.asarray(own[0], np.float64), np.asarray(real, np.float64)).frechet
    if "dimension" in job.measures and has_embeddings(judge.name):
        looked_at = real if outcome is None else own[0]
        yield "dimension", estimate_intrinsic_dimension(np.asarray(looked_at, np.float64))
    if not isinstance(outcome, Outcome):
        return
    if "votes" in job.measures:
        yield from spread(outcome)
    if "noise" in job.measures:
        yield from measure_noise_on_votes(outcome, shots, test.labels)
    if {"to private", "to synthetic"} & job.measures:
        private = judge.look(shots.images), shots.targets
        for iteration, each in enumerate(populations(outcome, test.labels)):
            gaps = distances(_usable(judge.look(each.images), each.targets), _usable(*private))
            yield from ((f"{name}@{iteration}", value) for name, value in gaps)
    if {"by iteration", "best", "loss"} & job.measures:
        accuracies = []
        for iteration, each in enumerate(populations(outcome, test.labels)):
            trained = _train(judge, (judge.look(each.images), each.targets), test, job.heads)
            accuracies.append(_right(trained.heads, real, test))
            yield f"accuracy@{iteration}", accuracies[-1]
            if (loss := trained.loss) is not None:
                yield f"loss@{iteration}", loss
        yield "last", accuracies[-1]
        yield "best", max(accuracies[1:] or accuracies)


def _right(heads: Sequence[Predict], real: NDArray[np.floating], test: HeldOut) -> float:
    """Accuracy, mean over heads."""
    return float(np.mean([np.mean(head(real) == test.targets) for head in heads]))


@dataclass(frozen=True, eq=False)
class _Trained:
    """Heads of several seeds, and what they were trained on."""

    training: Training
    heads: Sequence[Predict]

    @property
    def loss(self) -> float | None:
        """Cross-entropy on what they were trained on, mean over the seeds; None of networks from scratch."""
        own = [head.loss(self.training) for head in self.heads if isinstance(head, PapersHead)]
        return float(np.mean(own)) if own else None


def _usable(features: NDArray[np.floating], targets: NDArray[np.int64]) -> Seen:
    """Those of which a judge can say something."""
    kept = find_usable(features)
    return features[kept], targets[kept]


def _train(judge: Evaluator, own: Seen, test: HeldOut, heads: int) -> _Trained:
    """Train a head for each seed; ``DataError`` where a class has no image that the judge can use."""
    training = judge.prepare(*own, test.labels)
    return _Trained(training, [judge.train(training, seed) for seed in range(heads)])


def _by_means(root: Path, test: HeldOut) -> float:
    """Accuracy of a run's released class means, without any image of the run's."""
    means = NearestMean.of(root, lambda plan: load_encoder(plan.encoder.name))
    return float(np.mean(means.classes(test.images) == test.targets))
