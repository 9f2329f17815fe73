"""A whole run, measured where there are test data."""

from __future__ import annotations

import json
import shutil

import pytest

from pcevolve.errors import UsageError
from pcevolve.keeper.finished.evaluating import EvaluationRequest, evaluate
from pcevolve.public.run.owner import OwnerFolder
from support.folders import toned_folders

pytestmark = pytest.mark.usefixtures("few_steps")
SECRET = ("mole of patient Smith", "mole of patient Quill")
"""Names of folders that say whose images these are."""


def test_held_out_images_are_judged_under_the_words_by_the_run_and_by_evaluate(evolved, tmp_path):
    """The words come in another order than the folders: to count on that order would exchange the classes."""
    dark, bright = 0, 190
    scans, test = (
        toned_folders(tmp_path / name, dict(zip(SECRET, (dark, bright), strict=True)), 4, seed)
        for seed, name in enumerate(("own", "test"))
    )
    words = {SECRET[1]: "bright", SECRET[0]: "dark"}
    result = evolved(private=scans, words=words, test=test)
    assert result.labels == ("bright", "dark")
    own = json.loads(OwnerFolder.of(result.folder).evaluation.read_text())
    assert {row["judge"] for row in own["accuracy"]} == {"cnn", "bundled"}
    page = OwnerFolder.of(result.folder).use_page.read_text("utf-8")
    assert "Predictions of the classifier cnn after training on the dataset" in page
    assert page.count('alt="private"') == page.count('alt="of the dataset"') > 0

    for label, tone in (("bright", bright), ("dark", dark)):
        shutil.rmtree(result.folder / "release" / label)
        toned_folders(result.folder / "release", {label: tone}, 4, 2)
    found = evaluate(result.folder, EvaluationRequest(str(test), judges=("bundled",)))
    assert found["judges"][0]["dataset"]["accuracy"]["mean"] == 1.0
    with pytest.raises(UsageError, match=r"data\.words must contain every class exactly once"):
        evaluate(
            result.folder,
            EvaluationRequest(str(toned_folders(tmp_path / "other", {"mole": 0, "wart": 190}, 2, 3))),
        )
