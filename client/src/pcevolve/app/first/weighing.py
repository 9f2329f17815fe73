"""Measure a demonstration's results on held-out real data, and write the page about them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pcevolve.app.first.demo import find_private
from pcevolve.errors import UsageError
from pcevolve.keeper.components import Components
from pcevolve.keeper.evaluation.judge import LabelledSet
from pcevolve.keeper.finished.judging import (
    ask_judges,
    keep_accuracy,
    label_sets,
    label_shots,
    weigh,
)
from pcevolve.keeper.finished.outcome import Outcome, recall
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.loop.evolution import Evolved
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.pages.report.page import CONTROL, SHOTS, write_report
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience, show_work
from pcevolve.public.transcript.reader import RunReader

ROUND = "round"
"""Prefix, before a number, of the names of populations between the first and the dataset in a summary."""


def measure(
    run: CheckedRun, audience: Audience, summary: dict[str, Any], others: Mapping[str, str], started: float
) -> dict[str, Any]:
    """Measure a demonstration's results, write its page, and return its summary.

    Args:
        others: Folders of the other runs, such as the control's.
        started: Start of the demonstration, by this machine's monotonic clock.
    """
    main = Outcome(run.folder, Components.of(run), *_recall(run.folder), summary)
    with show_work(audience.console, "3/3 measure") as counted:
        sets = _list_sets(main, RunFolder(Path(others[CONTROL])))
        answers = ask_judges(main, _public_test(main), sets, counted)
    readers = {name: RunReader.strict(Path(root)) for name, root in others.items()}
    points = [*_list_points([each.as_json() for each in answers], main.plan.method.name)]
    measured, root = weigh(answers, main.plan), run.folder.root
    page = write_report(RunReader.strict(root), points, find_private(root) / "report.html", readers, measured)
    found = {"wall_seconds": round(time.monotonic() - started, 1), "report": str(page)}
    return keep_accuracy(replace(main, summary=summary | found), answers, sets)


def _recall(folder: RunFolder) -> tuple[PublicPlan, Evolved]:
    record = RunReader.strict(folder.root)
    return record.require_plan(), recall(record)


def _list_sets(main: Outcome, control: RunFolder) -> dict[str, LabelledSet]:
    """Return the judges' training sets: the run's populations, the control's dataset and the shots."""
    labels = _public_test(main).labels
    first, *later = label_sets(main, labels, every=True)
    rounds = {f"{ROUND} {t}": each for t, each in enumerate(later[:-1], 1)}
    sets = {"initial": first, **rounds, "final": later[-1]}
    # Only the control's images are used, not its components.
    chosen = Outcome(control, main.components, *_recall(control), {})
    sets["random"] = label_sets(chosen, labels, every=False)[-1]
    sets["shots"] = label_shots(main.components.data)
    return sets


def _list_points(rows: Sequence[Mapping[str, Any]], method: str) -> Iterator[AccuracyPoint]:
    """Yield each judge's accuracies for the page."""
    for row in rows:
        judge, rounds = (row["judge"], row["voted"]), [each for each in row if each.startswith(ROUND)]
        for t, name in enumerate(("initial", *rounds, "final")):
            yield AccuracyPoint(method, *judge, t, row[name]["mean"], row[name]["sem"])
        for title, name in ((CONTROL, "random"), (SHOTS, "shots")):
            yield AccuracyPoint(title, *judge, len(rounds) + 1, row[name]["mean"], row[name]["sem"])


def _public_test(outcome: Outcome) -> PrivateDataset:
    if outcome.components.test is None or not outcome.components.test_is_public:
        raise UsageError("the demonstration shows figures about its test data, so they must be public")
    return outcome.components.test
