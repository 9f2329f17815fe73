"""A run that was made before transcript, manifest and summary had one reader and one model is read as it always was.

``old_run`` was recorded by the version of November 2026 against the fake provider: two classes, lookahead, a paid
selection, more samples, a refusal and a broken connection. Its pages are left out, for they may look better one day.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pcevolve.audit import audit
from pcevolve.methods import method
from pcevolve.publish import write_summary
from pcevolve.transcript import Counts, RunReader
from support.tones import Tones

OLD = Path(__file__).with_name("old_run")
OLD_MEANS = Path(__file__).with_name("old_means_run")
"""Recorded before centres were released: ``dp-means``, all sums at once, of images that ``Tones`` embeds."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "run"))


def test_the_audit_still_makes_its_release_and_summary_again_byte_for_byte_and_finds_nothing_wrong(old: Path):
    findings = audit(old)
    assert [fault for each in findings for fault in each.faults] == []
    assert [each.checked for each in findings if each.claim.startswith("the release is what")] == [12]


def test_its_choices_are_not_checked_because_its_plan_does_not_say_which_bundled_weights_judged(old: Path):
    (choices,) = (each for each in audit(old) if each.unchecked)
    assert choices.claim == "every choice follows from what was measured and paid for"
    assert choices.checked == 0
    assert "made before plans named the bundled encoder's weights" in choices.unchecked


def test_its_manifest_is_read_and_written_in_the_very_same_bytes():
    written = (OLD / "release" / "manifest.json").read_bytes()
    assert RunReader.strict(OLD).manifest().encode() == written


def test_its_summary_is_written_in_the_very_same_bytes(old: Path):
    write_summary(RunReader.strict(old))
    assert (old / "summary.json").read_bytes() == (OLD / "summary.json").read_bytes()


def test_its_attempts_tell_retries_from_requests():
    counts = Counts.of(RunReader.strict(OLD).traffic.attempts)
    assert (counts.retries, counts.unusable) == (2, 2)


def test_means_that_were_released_at_once_still_pass_and_choices_follow_from_them(tmp_path: Path):
    run = Path(shutil.copytree(OLD_MEANS, tmp_path / "run"))
    findings = audit(run, lambda plan: Tones())
    assert [fault for each in findings for fault in each.faults] == []
    assert any(each.claim.startswith("every choice follows") and each.checked == 1 for each in findings)


def test_a_plan_without_a_centre_is_written_as_it_always_was_and_pays_for_one_access():
    plan = RunReader.strict(OLD_MEANS).require_plan()
    assert not plan.centre_first
    assert "centre_first" not in plan.model_dump()
    assert [len(events) for events in method("dp-means").planned(plan).values()] == [1] * 4
    centred = plan.model_copy(update={"centre_first": True})
    assert centred.model_dump()["centre_first"] is True
    assert [len(events) for events in method("dp-means").planned(centred).values()] == [1, 2, 1, 1]


def test_the_manifest_of_means_released_at_once_is_written_in_the_very_same_bytes():
    written = (OLD_MEANS / "release" / "manifest.json").read_bytes()
    assert RunReader.strict(OLD_MEANS).manifest().encode() == written
