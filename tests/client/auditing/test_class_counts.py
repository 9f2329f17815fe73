"""Released class counts: what the dataset's sizes follow from is checked like every other choice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from client.auditing.test_honest_runs import SHOTS, judged_run
from leaks.forgeries.receipts import receipted, said
from pcevolve.auditing import audit
from pcevolve.transcript import RunReader
from support.runs import small_plan

PLAN = small_plan(
    method="pe", delta=1e-5, candidates=4, initial=4, prototypes=4, shots=SHOTS, class_counts=True
)


def faults(root: Path) -> list[str]:
    return [fault for finding in audit(root) for fault in finding.faults]


def counts(root: Path) -> Sequence[float]:
    return next(each.values for each in RunReader.strict(root).receipts if each.iteration == 1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return judged_run(tmp_path / "run", PLAN)


def test_the_first_round_pays_for_two_accesses_and_says_one_number_for_each_class(run: Path):
    first, *later = RunReader.strict(run).receipts
    assert [each.mechanism for each in first.events] == ["gaussian", "gaussian"]
    assert len(first.values) == len(PLAN.labels)
    assert all(len(each.events) == 1 and each.values == () for each in later)
    assert faults(run) == []


def test_sizes_that_were_not_measured_are_found(run: Path):
    wanted = [each + 1 for each in counts(run)]
    receipted(said(values=wanted))(run)
    assert any("do not follow from what was measured" in each for each in faults(run))


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_no_more_and_no_other_numbers_are_said_than_one_for_each_class(run: Path, values: list[float]):
    receipted(said(values=values))(run)
    assert any("says something that the plan does not leave open" in each for each in faults(run))


def test_numbers_in_a_later_round_are_found(run: Path):
    receipted(said(values=list(counts(run))), iteration=2)(run)
    assert any("says something that the plan does not leave open" in each for each in faults(run))


def test_images_that_the_counts_leave_out_are_not_published(run: Path):
    """Two of four images where the released number is half of the other's."""
    plan = RunReader.strict(run).require_plan()
    kept = {label: len(list((run / "release" / label).glob("*.png"))) for label in plan.labels}
    largest = max(counts(run))
    for label, count in zip(plan.labels, counts(run), strict=True):
        assert kept[label] == max(1, -(-max(count, 0) * 4 // largest))
    manifest = json.loads((run / "release" / "manifest.json").read_text())
    assert len(manifest["files"]) == sum(kept.values())
