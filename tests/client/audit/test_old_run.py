"""A run that was made before transcript, manifest and summary had one reader and one model is read as it always was.

``old_run`` was recorded by the version of November 2026 against the fake provider: two classes, lookahead, a paid
selection, more samples, a refusal and a broken connection. Its pages are left out, for they may look better one day.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pcevolve.audit import audit
from pcevolve.publish import write_summary
from pcevolve.transcript import Counts, RunReader

OLD = Path(__file__).with_name("old_run")


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
