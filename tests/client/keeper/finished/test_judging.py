"""Which judges there are, and which of them voted."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from pcevolve.errors import DataError
from pcevolve.keeper import images
from pcevolve.keeper.evaluation.worth import Interval, Worth
from pcevolve.keeper.finished import judging
from pcevolve.keeper.finished.judging import Answers, load_judges, load_quick_judges
from pcevolve.keeper.private.dataset import load_folder
from pcevolve.public.encoders import bundled_digest, published, shipped_digest
from pcevolve.public.run.owner import OwnerFolder
from support.runs import small_plan


class Named:
    """An encoder of some name; nothing is embedded."""

    dimension = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, images):
        return np.zeros((len(images), 1))


@pytest.mark.parametrize(
    ("voter", "kind", "fetched", "others"),
    [
        ("bundled", "image", (), ["cnn"]),
        ("bundled+spectrum", "image", (), ["cnn"]),
        ("bundled", "image", ("resnet18",), ["cnn", "resnet18"]),
        ("clip", "image", ("clip", "resnet18"), ["cnn", "resnet18"]),
        ("clip", "image", ("clip",), ["cnn", "bundled"]),
        ("words", "text", (), ["ngrams"]),
    ],
)
def test_the_voter_is_never_alone_and_never_first(voter, kind, fetched, others, monkeypatch):
    monkeypatch.setattr(published, "is_fetched", fetched.__contains__)
    monkeypatch.setattr(judging, "load_encoder", lambda name, *_: Named(name))
    found = load_quick_judges(Named(voter), voted=True, device="cpu", kind=kind)
    assert [(each.name, each.voted) for each in found] == [*((each, False) for each in others), (voter, True)]


def test_nobody_voted_in_a_run_that_looked_at_nothing():
    assert not any(each.voted for each in load_quick_judges(Named("bundled"), voted=False, device="cpu"))


LABELS = ("cut", "good")


def test_a_judge_is_right_where_it_says_the_truth():
    said = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]])
    answers = Answers(load_judges(["cnn"], None, "cpu")[0], np.array([0, 1, 1, 1]), {"final": said}, {})
    assert answers.right["final"].sum(axis=1).tolist() == [2, 1, 3]
    told = answers.as_json()
    assert (told["judge"], told["voted"]) == ("cnn", False)
    assert told["final"]["seeds"] == [0.5, 0.25, 0.75]
    # Rows are the truth: of nine items of the second class it knew three.
    assert answers.confuse(LABELS).counts == [[3, 0], [6, 3]]


@pytest.mark.parametrize(
    ("words", "word", "lead", "advice"),
    [
        (
            0.2,
            "unknown",
            r"40 points \((29|30|31) to (49|50|51)\) above words alone",
            "give the private images with --private, and pcevolve evaluate also compares the dataset with",
        ),
        (
            0.9,
            "not useful",
            r"30 points \(2[0-3] to (3[7-9]|4[0-1])\) below words alone",
            "words alone cost no privacy and are better: spending epsilon added nothing",
        ),
    ],
)
def test_without_private_images_it_is_said_what_they_would_add_unless_words_alone_settle_it(
    words, word, lead, advice
):
    right = {
        name: np.tile(np.arange(100) < 100 * share, (3, 1))
        for name, share in (("dataset", 0.6), ("words alone", words))
    }
    found = judging.describe_worth(Worth.of({"cnn": right}, 2, {}), "image")
    assert found["word"] == word
    assert found["sentence"].startswith("a classifier trained on the dataset has an accuracy of 60 % (")
    assert re.search(lead, found["sentence"]), found["sentence"]
    assert found["advice"].startswith(advice)


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        ((-0.01, -0.10, 0.07), "1 point below words alone (10 below to 7 above)"),
        ((0.02, -0.01, 0.07), "2 points above words alone (1 below to 7 above)"),
        ((-0.24, -0.38, -0.10), "24 points (10 to 38) below words alone"),
        ((0.24, 0.10, 0.38), "24 points (10 to 38) above words alone"),
    ],
)
def test_a_lead_that_is_not_sure_says_on_which_side_each_end_of_its_interval_lies(lead, words):
    assert judging._spell_lead(Interval(*lead), "words alone") == words


def test_a_verdict_names_the_judges_that_learnt_nothing_and_why():
    def right(dataset: float, shots: float) -> dict[str, np.ndarray]:
        sets = (("dataset", dataset), ("private images", shots))
        return {name: np.tile(np.arange(100) < 100 * share, (3, 1)) for name, share in sets}

    answers = {"cnn": right(0.7, 0.5), "clip": right(0.8, 0.9), "resnet18": right(0.8, 0.6)}
    learnt = {"cnn": 1.0, "clip": 1.0, "resnet18": 0.6}
    found = judging.describe_worth(Worth.of(answers, 2, {}, learnt), "image")
    assert found["sentence"].startswith("the dataset's accuracy covers 75 % (")
    assert found["judges"] == ["clip"]
    assert found["sentence"].endswith(
        " (measured by clip on 100 held-out images; 95 % intervals); cnn, trained on the private images, is not "
        "clearly better than chance, so its figures are left out; resnet18 could not learn the private images, so its "
        "figures are left out"
    )


def test_rows_of_judges_are_kept_beside_those_about_the_same_subject_alone(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = finished()
    path = OwnerFolder.of(root).judgement

    def keep(subject: str, judge: str, mean: float) -> list[tuple[str, float]]:
        judging.keep_judgement(root, {"subject": subject, "judges": [{"judge": judge, "mean": mean}]})
        return [(row["judge"], row["mean"]) for row in json.loads(path.read_bytes())["judges"]]

    assert keep("one", "cnn", 0.5) == [("cnn", 0.5)]
    assert keep("one", "bundled", 0.6) == [("bundled", 0.6), ("cnn", 0.5)]
    assert keep("one", "cnn", 0.7) == [("cnn", 0.7), ("bundled", 0.6)]
    assert keep("other", "clip", 0.8) == [("clip", 0.8)]


@pytest.mark.parametrize(
    ("name", "voter", "weights", "voted"),
    [
        ("auto", "bundled", bundled_digest(), True),
        ("bundled", "bundled+spectrum", bundled_digest(), True),
        ("bundled", "bundled", "0" * 64, False),
        ("bundled", "resnet18", None, False),
    ],
)
def test_a_judge_voted_that_is_the_runs_encoder_whatever_it_is_called(name, voter, weights, voted):
    (found,) = load_judges([name, "bundled"], voter, "cpu", "image", weights)
    assert (found.name, found.voted) == ("bundled", voted), "kept figures must not be those of another auto"


@pytest.mark.parametrize(
    ("judge", "voter"),
    [("bundled", "joined"), ("mobilenet", "joined"), ("joined", "bundled"), ("joined", "joined")],
)
def test_a_part_of_the_encoder_that_selected_voted_and_so_did_what_has_it_as_a_part(judge, voter):
    found = load_judges([judge, "cnn"], voter, "cpu", "image", shipped_digest(voter))
    assert [(each.name, each.voted) for each in found] == [("cnn", False), (judge, True)]
    (other,) = load_judges(["mobilenet"], "bundled", "cpu", "image", shipped_digest("bundled"))
    assert not other.voted


def test_a_clip_is_the_same_however_much_of_its_name_is_written_out():
    pytest.importorskip("open_clip")
    assert judging._same("clip", "clip:ViT-B-32:laion2b_s34b_b79k")
    assert not judging._same("clip", "clip:ViT-B-16:laion2b_s34b_b88k")


def test_the_owners_images_may_lie_in_folders_of_units_where_those_of_the_run_do(tmp_path: Path, world):
    for label in LABELS:
        shutil.copytree(world / "test" / label, tmp_path / "test" / label / "patient 1")
    data = images.read_others(tmp_path / "test", small_plan(unit="patient"), None)
    assert data.digests == load_folder(world / "test", unique=False).digests
    with pytest.raises(DataError, match="seems to contain one folder per patient"):
        images.read_others(tmp_path / "test", small_plan(), None)
