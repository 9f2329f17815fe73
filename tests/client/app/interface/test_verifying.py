"""Runs checked, packed and exported by their folders alone."""

from __future__ import annotations

import pytest

import pcevolve
from pcevolve.auditing import Audit


def test_an_audit_that_finds_something_is_false_and_says_what(evolved):
    result = evolved(method="t2i")
    (result.dataset / "note.txt").write_text("patient 17")
    (result.folder / ".summary.json.partial").touch()
    found = pcevolve.verify(result.folder, html=True)
    assert not found
    assert all(any(name in fault for fault in found.faults) for name in ("note.txt", ".summary.json.partial"))
    page = found._repr_html_()
    assert page.index("Does NOT hold") < page.index("note.txt") < page.index("<table>")
    assert repr(found).startswith("<AuditResult: does NOT hold: ")
    assert "note.txt" in repr(found)


def test_findings_are_those_of_an_audit(evolved):
    result = evolved()
    found, due = pcevolve.verify(result.folder), Audit.of(result.folder)
    assert found.findings == tuple(due.findings)
    assert (found.claims, found.unverified) == (due.claims, tuple(due.unverified))
    assert found.summary == due.summary
    assert (found.holds, found.broken, found.unfinished) == (True, False, False)


def test_a_pack_and_an_export_are_written_beside_the_release_once_and_in_known_forms(evolved, tmp_path):
    result = evolved(method="t2i")
    assert pcevolve.pack(result.folder) == tmp_path / "run.zip"
    with pytest.raises(pcevolve.UsageError, match=r"run\.zip already exists: give another"):
        pcevolve.pack(result.folder)
    assert result.export("webdataset") == pcevolve.export(tmp_path / "run", "webdataset")
    assert (tmp_path / "run" / "release-webdataset" / "README.md").is_file()
    with pytest.raises(
        pcevolve.UsageError, match="format csv: images can be written as parquet or webdataset"
    ):
        result.export("csv")


@pytest.mark.parametrize("ask", [pcevolve.verify, pcevolve.pack, lambda run: pcevolve.export(run, "parquet")])
def test_what_is_no_run_is_refused_before_a_process_is_started(ask, tmp_path):
    with pytest.raises(pcevolve.UsageError, match="is not the folder of a run"):
        ask(tmp_path)
