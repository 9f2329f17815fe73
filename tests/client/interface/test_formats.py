"""Forms of a dataset that a run is asked for: written in the end, made anew when it is extended, refused early."""

from __future__ import annotations

import pytest

import pcevolve
from pcevolve.publish import exports


def test_a_run_writes_the_forms_that_it_is_asked_for_and_passes_the_audit(evolved):
    result = evolved(method="t2i", formats=("parquet", "webdataset"), licence="cc-by-4.0")
    assert (result.folder / "release-parquet" / "data" / "train-00000-of-00001.parquet").is_file()
    assert (result.folder / "release-webdataset" / "data" / "train-00000.tar").is_file()
    for name in ("release", "release-parquet", "release-webdataset"):
        assert 'license: "cc-by-4.0"' in (result.folder / name / "README.md").read_text()
    assert result.audit()


def test_an_extension_makes_them_anew(evolved):
    result = evolved(method="t2i", formats=("webdataset",))
    before = (result.folder / "release-webdataset" / "data" / "train-00000.tar").stat().st_size
    larger = pcevolve.extend(result.folder, more=1, quiet=True)
    assert (larger.folder / "release-webdataset" / "data" / "train-00000.tar").stat().st_size > before
    assert not (larger.folder / "release-parquet").exists()
    assert larger.audit()


def test_a_form_can_be_asked_for_later(evolved):
    result = evolved(method="t2i")
    assert result.export("webdataset") == result.folder / "release-webdataset"
    with pytest.raises(pcevolve.UsageError, match=r"format csv: there is parquet and webdataset"):
        result.export("csv")


def test_a_form_that_cannot_be_written_is_refused_before_anything_is_sent(evolved, native, monkeypatch):
    monkeypatch.setattr(exports, "find_spec", lambda name: None)
    with pytest.raises(pcevolve.UsageError, match="needs pyarrow"):
        evolved(formats=("parquet",))
    with pytest.raises(pcevolve.UsageError, match="formats: Input should be"):
        evolved(formats=("csv",))
    assert native.heard == []


def test_a_card_has_a_licence_that_is_one(evolved):
    with pytest.raises(pcevolve.UsageError, match="licence: String should match pattern"):
        evolved(licence="mit\ntags: [private]")
    result = evolved(method="t2i")
    assert (result.dataset / "README.md").read_text().startswith('---\nlicense: "unknown"\n')
