"""The curves of a run, from public figures only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcevolve.dp.accountants import epsilon
from pcevolve.pages import size
from pcevolve.pages.report.charts import Chart, Series
from pcevolve.pages.report.source import FinishedRun
from pcevolve.pages.report.traffic import TrafficTable
from pcevolve.privacy import Event

FEWEST_POINTS = 3
"""Of a line; fewer are read more easily in the table."""


@dataclass(frozen=True)
class AccuracyPoint:
    """Accuracy of a classifier trained on one population; to be shown only if the test data are public.

    Attributes:
        name: Whose populations these are, e.g. ``pcevolve``.
        judge: Whose classifier it is.
        voted: Whether the run selected by that judge, which flatters what was selected.
        iteration: Round, 0 for text-to-image.
        mean: Top-1 accuracy in 0..1.
        sem: Its standard error.
    """

    name: str
    judge: str
    voted: bool
    iteration: int
    mean: float
    sem: float


def percent(value: float) -> str:
    """Write a fraction as a percentage."""
    return f"{value * 100:.3g}%"


def spent(run: FinishedRun) -> list[float]:
    """Privacy loss ε at the run's δ by the end of each iteration."""
    events: list[Event] = []
    losses = []
    for iteration in range(run.plan.iterations + 1):
        receipt = run.receipts.get(iteration)
        events.extend(() if receipt is None else receipt.events)
        losses.append(epsilon(events, run.plan.delta))
    return losses


def curves(run: FinishedRun, traffic: TrafficTable, accuracy: Sequence[AccuracyPoint]) -> list[Chart]:
    """All charts of the page that have enough points for one; an INSECURE run has none of ε."""
    counted = [point for point in accuracy if not point.voted]
    charts = [_accuracy(counted)] if counted else []
    if run.plan.iterations:
        charts += [_epsilon(run)] if run.plan.secure else []
        charts += [] if run.plan.varies_prompts else [_strength(run)]
        charts += _bytes(traffic)
    return [each for each in charts if each.points >= FEWEST_POINTS]


def _accuracy(points: Sequence[AccuracyPoint]) -> Chart:
    lines = dict.fromkeys((point.name, point.judge) for point in points)
    series = []
    for name, judge in lines:
        of_line = (each for each in points if (each.name, each.judge) == (name, judge))
        own = sorted(of_line, key=lambda each: each.iteration)
        values = tuple((each.iteration, each.mean) for each in own)
        series.append(Series(f"{name}, by {judge}", values, tuple(each.sem for each in own)))
    ends = (
        f"{line.name} from {percent(line.values[0][1])} to {percent(line.values[-1][1])}" for line in series
    )
    title = "Accuracy on held-out real data, by judges that did not vote"
    return Chart(title, "; ".join(ends), series, 1.0, percent)


def _epsilon(run: FinishedRun) -> Chart:
    values = tuple(enumerate(spent(run)))
    budget = float(run.plan.budget.epsilon)
    summary = f"{values[-1][1]:g} spent in the end, budget {budget:g}"
    top = max(budget, values[-1][1])
    line = Series("ε spent", values)
    return Chart("Privacy loss ε, cumulative", summary, [line], top, "{:g}".format, ("budget", budget))


def _strength(run: FinishedRun) -> Chart:
    values = tuple(enumerate(run.plan.strengths, start=1))
    summary = f"from {values[0][1]:g} to {values[-1][1]:g}"
    title = "Strength of variation (0 copies the image, 1 ignores it)"
    return Chart(title, summary, [Series("strength", values)], 1.0, "{:g}".format)


def _bytes(traffic: TrafficTable) -> Iterator[Chart]:
    for name, counts in (("sent", traffic.sent), ("received", traffic.received)):
        line = Series(name, tuple((t, float(count)) for t, count in enumerate(counts)))
        yield Chart(
            f"Bytes {name}, cumulative", f"{size(counts[-1])} in the end", [line], float(counts[-1]), size
        )
