"""Private images are no test of the dataset that they chose, in whatever file they come."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper.finished.evaluating import EvaluationRequest, evaluate
from pcevolve.keeper.private.records import read_records
from pcevolve.keeper.private.tables import Columns
from pcevolve.public.media.texts import digest_text
from pcevolve.public.run.owner import OwnerFolder
from support.folders import class_folders

pytestmark = pytest.mark.models


@pytest.fixture
def others(tmp_path: Path, private: Path) -> Path:
    """Held-out images of the same classes."""
    return class_folders(tmp_path / "others", 7)


def ask(root: Path, test: Path) -> dict[str, object]:
    return evaluate(root, EvaluationRequest(str(test), judges=("bundled",)))


def test_the_private_images_are_refused_as_test_images(evolved, private: Path):
    root = evolved().folder
    with pytest.raises(DataError, match="part of these data are private data of the run"):
        ask(root, private)
    assert not OwnerFolder.of(root).judgement.exists()


def test_a_single_private_image_is_refused_in_another_form_and_under_another_name(
    evolved, private: Path, others: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    root = evolved().folder
    assert "not_checked" not in ask(root, others)
    label = next(each for each in sorted(private.iterdir()) if each.is_dir())
    with Image.open(next(iter(sorted(label.iterdir())))) as image:
        image.convert("RGB").save(others / label.name / "holiday.bmp")
    with pytest.raises(DataError, match="part of these data are private data of the run"):
        ask(root, others)
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r": 1 of 7: [^,]*holiday\.bmp", said), "the owner is told which"


def test_an_image_that_is_trained_on_is_refused_as_a_test_image(evolved, others: Path):
    root = evolved().folder
    with pytest.raises(DataError, match="part of these data are private data"):
        evaluate(root, EvaluationRequest(str(others), str(others), judges=("bundled",)))


def test_without_the_ledger_it_is_said_that_nobody_looked(evolved, others: Path, tmp_path: Path, command):
    root = evolved().folder
    shutil.move(tmp_path / "ledger" / "ledger.sqlite", tmp_path / "elsewhere")
    assert ask(root, others)["not_checked"].startswith(
        "not checked, because the run's ledger is not on this machine"
    )
    told = command("evaluate", root, "--test", others, "--judge", "bundled")
    assert "not checked, because the run's ledger is not on this machine" in " ".join(told.out.split())
    assert "training classifiers will take" in told.said


def test_where_nothing_private_chose_private_images_may_test(evolved, private: Path):
    assert "not_checked" not in ask(evolved(method="random").folder, private)


def test_classify_says_how_many_of_its_files_are_private_ones(evolved, private: Path, others: Path, command):
    root = evolved(method="dp-means", epsilon=50, lifetime_epsilon=50, shots=3).folder
    assert "private data of this run" not in command("classify", root, others).said
    told = command("classify", root, private, others)
    total = len([*private.rglob("*.png"), *others.rglob("*.png")])
    assert re.search(
        rf"^{len([*private.rglob('*.png')])} of {total} files are private data of this run", told.said
    )
    assert len(told.out.splitlines()) == total


def test_a_text_in_a_file_has_the_digest_of_its_row(tmp_path: Path):
    (tmp_path / "table.csv").write_text("text,label\n  Red house ,a\nblue sea,b\n")
    rows = read_records(tmp_path / "table.csv", Columns("text", "label")).dataset(None)
    (tmp_path / "file.txt").write_text("Red house\n")
    from pcevolve.public.media import find_medium

    text, digest = find_medium("text").open(tmp_path / "file.txt")
    assert digest == digest_text("Red house") == rows.digests[[*rows.items].index(text)]
