"""An audit's pages are its own, and what it did not verify it names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pcevolve.app.interface import AuditResult
from pcevolve.auditing import Audit
from support.paid import make_paid_run
from support.provider import png
from support.runs import SmallRun, following_plan, small_plan

OWN = {"README.md": "release/README.md", "report.html": "report.html", "summary.json": "summary.json"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_paid_run(tmp_path_factory.mktemp("run"), small_plan())


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def test_what_was_not_verified_is_named_file_by_file_and_breaks_nothing(copy: Path):
    assert Audit.of(copy).unverified == []
    for path in (copy / "release" / "README.md", copy / "report.html"):
        path.write_text("In other words: epsilon = 0.1.")
    audited = Audit.of(copy)
    assert audited.holds
    assert sorted(audited.unverified) == ["release/README.md", "report.html"]
    (copy / "transcript" / "log.jsonl").write_text("")
    assert Audit.of(copy).unverified == ["release/", "report.html", "summary.json", "transcript/"]


def test_an_audit_renders_what_it_verified_and_nothing_of_a_broken_run_but_what_left(copy: Path):
    honest = {name: (copy / path).read_bytes() for name, path in OWN.items()}
    for path in OWN.values():
        (copy / path).write_text("epsilon = 0.1")
    pages = Audit.of(copy).write_pages().parent
    assert {path.name for path in pages.iterdir()} == {*OWN, "wire.html"}
    for name in ("README.md", "summary.json"):
        assert (pages / name).read_bytes() == honest[name]
    # It lies beside the page that the owner's can only name: who has not audited yet has none.
    linked = (pages / "report.html").read_bytes().replace(b'<a href="wire.html">wire.html</a>', b"wire.html")
    assert linked == honest["report.html"] != (pages / "report.html").read_bytes()
    next((copy / "release" / "cut").iterdir()).write_bytes(png(7))
    assert [path.name for path in Audit.of(copy).write_pages().parent.iterdir()] == ["wire.html"]
    assert Audit.of(copy).summary is None


def test_a_run_that_starts_from_a_release_does_not_hold_until_that_release_is_audited_too(
    tmp_path: Path, finished: Path
):
    run = SmallRun.open(tmp_path / "more", following_plan())
    run.finish()
    run.close()
    for sources in ([], [finished], [tmp_path / "gone"]):
        audited = Audit.of(tmp_path / "more", sources=sources)
        assert (audited.holds, audited.broken) == (False, False)
        assert audited.faults == [
            "the images that this run varies come from a run that passes its audit: the run that released these "
            "images, and its epsilon, cannot be checked: give --from RUN, where RUN is the "
            f"run whose release/manifest.json has sha256 {'5' * 64}"
        ]


def test_a_verdict_is_told_with_what_speaks_against_it(copy: Path):
    assert Audit.of(copy)
    assert repr(AuditResult.of(Audit.of(copy))).startswith("<AuditResult: holds, ")
    next((copy / "release" / "cut").iterdir()).write_bytes(png(7))
    audited = Audit.of(copy)
    assert not audited
    assert audited.broken
    assert repr(AuditResult.of(audited)).startswith(
        "<AuditResult: does NOT hold: the release equals, byte for byte, what the record gives"
    )
