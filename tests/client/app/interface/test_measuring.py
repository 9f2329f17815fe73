"""Private data looked at, and runs measured with them, from Python: typed values, and errors for the owner alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pcevolve
from support.folders import class_folders


def test_a_check_counts_units_and_says_what_a_run_would_refuse(private: Path, tmp_path: Path):
    found = pcevolve.check(private, shots=3)
    assert found
    assert (found.labels, found.files, dict(found.units)) == (
        ("type A", "type B"),
        6,
        {"type A": 3, "type B": 3},
    )
    assert ("would be refused", "nothing") in found.rows
    refused = pcevolve.check(private, shots=30)
    assert not refused.fit
    assert "--shots is 30" in refused.faults[0]
    assert "--shots is 30" in repr(refused)
    assert refused._repr_html_().index("would refuse") < refused._repr_html_().index("<table>")
    assert not pcevolve.check(tmp_path / "none").fit
    with pytest.raises(pcevolve.UsageError, match=r"^shot: there is no such option"):
        pcevolve.check(private, shot=3)


def test_a_check_writes_the_map_of_units_and_uses_it(private: Path, tmp_path: Path):
    for number, path in enumerate(sorted(private.glob("*/*.png"))):
        folder = path.parent / f"p{number}"
        folder.mkdir()
        shutil.move(path, folder / path.name)
    written = tmp_path / "units.csv"
    found = pcevolve.check(private, shots=3, write_unit_map=written)
    assert "p0" in written.read_text()
    assert found.warnings[0].startswith(f"{written} was written")


def test_texts_are_checked_by_their_dialect_or_as_a_table(tmp_path: Path):
    table = tmp_path / "notes.csv"
    table.write_text("text,label\nall is well,a\nit is cold,a\nrain again,b\nsun at last,b\n")
    found = pcevolve.check(table, shots=2)
    assert (found.files, dict(found.units), found.fit) == (4, {"a": 2, "b": 2}, True)
    with pytest.raises(pcevolve.UsageError, match="write_unit_map is for images"):
        pcevolve.check(table, write_unit_map=tmp_path / "map.csv")


def test_an_evaluation_has_a_value_for_every_figure(evolved, private: Path, tmp_path: Path):
    result = evolved(method="dp-means", delta=1e-5)
    test = class_folders(tmp_path / "held-out", 5)
    found = pcevolve.evaluate(
        result.folder, test=test, private=private, mix=True, judges=["mobilenet", "bundled"], quiet=True
    )
    assert (found.labels, found.items, found.chance) == (("type A", "type B"), 6, 0.5)
    by_name = {each.judge: each for each in found.judges}
    assert by_name["bundled"].voted
    assert not by_name["mobilenet"].voted
    for each in found.judges:
        for name in ("dataset", "private", "both", "words", "random"):
            assert 0 <= getattr(each, name).accuracy.mean <= 1
        assert len(each.dataset.confusion) == 2
    assert found.measured is not None
    assert found.measured.accuracies["dataset"].low <= found.measured.accuracies["dataset"].mean
    assert found.page is not None
    assert found.page.is_file()
    assert found.classifier is not None
    assert str(by_name["mobilenet"].dataset.accuracy) in found._repr_html_()
    (compared,) = pcevolve.compare([result.folder])
    assert {each.judge: each.accuracy for each in compared.judges}["mobilenet"] == by_name[
        "mobilenet"
    ].dataset.accuracy
    assert compared.measured == found.measured
    assert (compared.epsilon, compared.images, compared.unit) == (result.epsilon, 4, "image")


def test_why_private_data_are_refused_is_said_on_stderr_alone(evolved, private: Path, capfd):
    result = evolved(method="t2i")
    capfd.readouterr()
    with pytest.raises(pcevolve.DataError, match="the reason is on standard error alone"):
        pcevolve.evaluate(result.folder, test=private / "none", quiet=True)
    assert "none" in capfd.readouterr().err
    with pytest.raises(pcevolve.UsageError, match=r"^mix trains on the private images"):
        pcevolve.evaluate(result.folder, test=private, mix=True)


def test_files_are_classified_with_a_score_and_private_ones_are_counted(evolved, private: Path):
    result = evolved(method="dp-means", delta=1e-5)
    released = pcevolve.classify(result.folder, result.dataset)
    assert len(released) == 4
    assert released.private == 0
    assert all(each.label in result.labels and 0 <= each.score <= 1 for each in released)
    own = sorted((private / "type A").iterdir())
    found = pcevolve.classify(result.folder, own)
    assert [each.path for each in found] == own
    assert found.private == 3


def test_runs_are_compared_and_those_on_other_test_data_are_told_apart(evolved, tmp_path: Path):
    one, two = (evolved(method="t2i", out=tmp_path / name) for name in ("one", "two"))
    found = pcevolve.compare(
        [one.folder, two.folder], html=tmp_path / "page.html", sheet=tmp_path / "sheet.png"
    )
    assert [each.name for each in found] == ["one", "two"]
    assert (tmp_path / "page.html").is_file()
    assert (tmp_path / "sheet.png").is_file()
    assert found.comparable
    for seed, each in enumerate((one, two)):
        test = class_folders(tmp_path / f"held-out {seed}", 5 + seed)
        pcevolve.evaluate(each.folder, test=test, judges=["bundled"], quiet=True)
    again = pcevolve.compare([one.folder, two.folder])
    assert not again.comparable
    assert "on different test data" in again._repr_html_()
    with pytest.raises(pcevolve.UsageError, match="is not the folder of a run"):
        pcevolve.compare([one.folder, tmp_path])
