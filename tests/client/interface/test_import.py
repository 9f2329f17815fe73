"""The package's import, and the forms in which a run writes its dataset."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pcevolve

HEAVY = ("numpy", "pydantic", "rich", "torch", "scipy", "httpx", "importlib.metadata")


@pytest.mark.system
def test_the_import_alone_loads_nothing():
    code = f"import sys, pcevolve; print([each for each in {HEAVY!r} if each in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert told.stdout.strip() == "[]", told.stderr


def test_errors_are_those_of_the_command_line():
    from pcevolve import errors

    assert pcevolve.BudgetError is errors.BudgetError
    assert issubclass(pcevolve.ProviderError, pcevolve.ClientError)


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


def test_a_card_has_a_licence_that_is_one(evolved):
    with pytest.raises(pcevolve.UsageError, match="licence: String should match pattern"):
        evolved(licence="mit\ntags: [private]")
    result = evolved(method="t2i")
    assert (result.dataset / "README.md").read_text().startswith('---\nlicense: "unknown"\n')
