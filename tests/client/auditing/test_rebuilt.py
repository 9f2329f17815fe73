"""Forms of a dataset beside its images hold the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.app.cli.main import main
from pcevolve.auditing import audit, rebuilt
from pcevolve.public.publish.exports import export_run
from support.forge import faults_of
from support.paid import make_paid_run
from support.runs import small_plan

pytestmark = pytest.mark.system


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path / "run", small_plan(licence="cc0-1.0"))


@pytest.mark.parametrize("writer", [b"25.9.9", b"0"])
def test_parquet_of_another_writer_is_not_called_wrong_and_not_called_right(run, writer, capsys):
    export_run(run, ["parquet"])
    path = run / "release-parquet" / "data" / "train-00000-of-00001.parquet"
    own = rebuilt._writer(path).encode()
    path.write_bytes(path.read_bytes().replace(b"version " + own, b"version " + writer.ljust(len(own), b"1")))
    (finding,) = (each for each in audit(run) if each.claim == "so is the dataset as parquet")
    assert (finding.faults, finding.holds) == ((), False)
    assert "it was written by pyarrow" in finding.unchecked
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(run)])
    assert ended.value.code == 8


def test_an_export_that_cannot_be_read_is_a_fault_and_no_crash(run, monkeypatch):
    export_run(run, ["parquet"])

    def unreadable(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(rebuilt, "_writer", unreadable)
    assert [each for each in faults_of(run) if "cannot be read: Permission denied" in each]


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_a_form_is_compared_file_by_file_and_its_card_is_no_part_of_what_was_verified(run, form):
    export_run(run, [form])
    folder = run / f"release-{form}"
    assert faults_of(run) == []
    data = next(each for each in sorted(folder.rglob("*")) if each.is_file() and each.name != "README.md")
    name = f"release-{form}/{data.relative_to(folder).as_posix()}"
    with (folder / "README.md").open("a") as card:
        card.write("In other words.")
    assert faults_of(run) == []
    held = data.read_bytes()
    for other in (held + b"x", held[:-1] + bytes([held[-1] ^ 1])):
        data.write_bytes(other)
        assert f"{name} is not what the release gives" in faults_of(run)
    data.unlink()
    assert f"{name} is missing" in faults_of(run)
    assert not any("is not what" in each for each in faults_of(run))
