"""A run of two providers has a capture of each, and neither passes for the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.auditing import Audit
from pcevolve.auditing.capture import reconcile
from pcevolve.errors import UsageError
from pcevolve.transcript import RunReader
from support.paid import make_paid_run
from support.provider import FakeProvider, FakeRewriter
from support.recorder import Recorded
from support.runs import ADDRESS, REWORDS, WRITER_KEY, SmallRun, small_plan

IMAGES, WORDS = "capture.jsonl", "capture.rewriter.jsonl"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two")
    (root / "run").mkdir()
    first = Recorded(FakeProvider(), root / IMAGES, ADDRESS.key or "")
    second = Recorded(FakeRewriter(), root / WORDS, WRITER_KEY)
    run = SmallRun.open(root / "run", small_plan(**REWORDS), first, rewriter_transport=second)
    run.finish()
    run.close()
    return root


def broken(root: Path, images: str | None, words: str | None) -> list[str]:
    """Claims that do not hold of a run beside these captures."""
    first, second = (None if name is None else root / name for name in (images, words))
    found = Audit.of(root / "run", capture=first, rewriter_capture=second)
    return [each.claim for each in found.findings if each.faults]


def test_each_capture_reconciles_with_what_went_to_its_provider(finished: Path):
    run = RunReader.strict(finished / "run")
    first, second = reconcile(run, finished / IMAGES), reconcile(run, finished / WORDS, of_rewriter=True)
    assert [each.faults for each in (*first, *second)] == [()] * 8
    assert all(each.claim.startswith("rewriter: ") for each in second)
    assert second[1].checked == sum(call.purpose == "reword" for call in run.plan.calls.values()) > 0
    assert first[1].checked + second[1].checked == run.requests
    assert broken(finished, IMAGES, WORDS) == []


def test_one_capture_does_not_pass_for_the_other(finished: Path):
    claims = {"nothing was sent that is not on record", "every answer on record is the one that came"}
    assert claims & set(broken(finished, WORDS, None))
    assert any(claim.startswith("rewriter: ") for claim in broken(finished, None, IMAGES))


def test_a_run_without_a_rewriter_has_no_capture_of_one(tmp_path: Path):
    make_paid_run(tmp_path, small_plan(), Recorded(FakeProvider(), tmp_path / IMAGES, ""))
    with pytest.raises(UsageError, match="this run has no rewriter"):
        reconcile(RunReader.strict(tmp_path), tmp_path / IMAGES, of_rewriter=True)
