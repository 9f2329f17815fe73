"""``pcevolve evaluate`` on a finished run: figures for the owner alone, the control beside them, copies found."""

from __future__ import annotations

import json
import secrets
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from pcevolve.app.cli.commands import app
from pcevolve.app.cli.finished import _compare_classifier
from pcevolve.auditing import audit, find_encoder
from pcevolve.errors import ClientError, DataError, ModelError, UsageError
from pcevolve.keeper.evaluation import forecast, heads
from pcevolve.keeper.evaluation import judge as judge_module
from pcevolve.keeper.evaluation.forecast import Forecast, JudgePace
from pcevolve.keeper.evaluation.heads import Predict, Training
from pcevolve.keeper.evaluation.judge import Accuracy, Evaluator
from pcevolve.keeper.evaluation.labelled import Labelled
from pcevolve.keeper.finished.classification import NearestMean
from pcevolve.keeper.finished.comparison import read_runs
from pcevolve.keeper.finished.evaluating import Evaluation, EvaluationRequest, evaluate
from pcevolve.keeper.private.dataset import load_folder
from pcevolve.public.methods import choose_delta
from pcevolve.public.modality import Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.screen import no_progress
from support.folders import toned_folders
from support.paid import MEANS, encoder, make_paid_run
from support.runs import small_plan

LABELS, TONES = ("cut", "good"), {"cut": 0, "good": 130}


def new_plan(**changes: object) -> PublicPlan:
    """A plan whose run's figures are nobody else's."""
    return small_plan(run_id=secrets.token_hex(16), **changes)


def finish_run(root: Path, **changes: object) -> Path:
    return make_paid_run(root, new_plan(candidates=6, **changes))


def judge(root: Path, world: Path, *judges: str, **more: Any) -> dict:
    """Evaluate a run on the owner's test images; by a judge that is trained in no time unless others are named."""
    question = EvaluationRequest(str(world / "test"), judges=judges or ("bundled",), **more)
    return evaluate(root, question, load=find_encoder)


@pytest.fixture(scope="module")
def found(world: Path) -> dict:
    """By both usual judges."""
    return evaluate(world / "run", EvaluationRequest(str(world / "test"), str(world / "private"), mix=True))


@pytest.mark.models
def test_a_dataset_of_the_right_kind_is_far_above_its_control(found):
    judges = [(row["judge"], row["voted"]) for row in found["judges"]]
    assert judges == [("cnn", False), ("bundled", False)], "nobody voted where nothing was looked at"
    for row in found["judges"]:
        assert row["dataset"]["accuracy"]["mean"] > 0.95
        assert row["random"]["accuracy"]["mean"] < 0.85
        assert row["both"]["accuracy"]["mean"] > 0.95 < row["private"]["accuracy"]["mean"]
        assert row["dataset"]["per_class"] == pytest.approx({"cut": 1.0, "good": 1.0}, abs=0.1)
    assert (found["control"], found["chance"], found["test_images"]) == ("run-random", 0.5, 24)


@pytest.mark.models
def test_the_word_is_what_judges_that_did_not_vote_found(found, world):
    measured = found["measured"]
    assert measured["judges"] == ["cnn", "bundled"]
    assert measured["share"][0] > 0.9
    assert measured["word"] == "doubtful", "24 held-out images are few"
    assert "by cnn and bundled on 24 held-out images" in measured["sentence"]
    assert read_runs([world / "run"])[0].measured["word"] == "doubtful"


@pytest.mark.parametrize(("initial", "free"), [(4, {"words alone"}), (8, {"words alone", "a random choice"})])
def test_a_run_that_selected_is_compared_with_words_alone_and_with_a_random_choice_of_them(
    tmp_path: Path, world, initial: int, free: set[str]
):
    root = make_paid_run(tmp_path / "means", new_plan(candidates=4, initial=initial, **MEANS))
    found = judge(root, world, "mobilenet", private=str(world / "private"))
    assert found["measured"]["ahead"].keys() == free
    assert found["judges"][0]["words"]["accuracy"]["mean"] >= 0
    assert read_runs([root])[0].measured


@pytest.mark.models
def test_the_owner_has_a_page_that_says_if_it_is_useful_and_nobody_else_has(found, world):
    page = Path(found["use_page"])
    assert page.stat().st_mode & 0o777 == 0o600
    assert (world / "run") not in page.parents, "the run's folder may be given away"
    text = page.read_text("utf-8")
    assert "Is the dataset useful? Doubtful." in text
    for name in ("chance", "a random choice", "dataset", "private images"):
        assert f">{name}</text>" in text
    assert text.count('alt="private"') == text.count('alt="of the dataset"') == 12, "six images of each class"
    assert "Predictions of the classifier cnn after training on the dataset" in text


def test_without_private_images_there_is_a_page_of_all_else_that_says_what_would_add_them(
    tmp_path: Path, world
):
    root = make_paid_run(tmp_path / "means", new_plan(candidates=4, initial=8, **MEANS))
    found = judge(root, world, "mobilenet")
    measured = found["measured"]
    assert (measured["word"], measured["share"]) == ("unknown", None)
    assert measured["accuracies"].keys() == {"words alone", "a random choice", "dataset"}
    text = Path(found["use_page"]).read_text("utf-8")
    assert "Is the dataset useful? Unknown without private images." in text
    for name in ("chance", "words alone", "a random choice", "dataset"):
        assert f">{name}</text>" in text
    assert ">private images</text>" not in text
    assert "Predictions of the classifier mobilenet after training on the dataset" in text
    assert 'id="pairs"' not in text
    assert read_runs([root])[0].measured["word"] == "unknown"
    said = " ".join(command(root, "--test", world / "test", "--judge", "mobilenet").stdout.split())
    assert "UNKNOWN, measured: a classifier trained on the dataset has an accuracy of " in said
    assert f"page with images: {found['use_page']}" in said


def test_a_dataset_is_nearer_to_held_out_images_than_its_control(tmp_path: Path, world):
    for name in ("run", "run-random"):
        shutil.copytree(world / name, tmp_path / name)
    first = judge(tmp_path / "run", world, private=str(world / "private"), mix=True)
    (row,) = first["judges"]
    assert (
        row["control_distances"].keys()
        == row["distances"].keys()
        == {"frechet", "precision", "recall", "few"}
    )
    assert row["control_distances"]["frechet"] > row["distances"]["frechet"]
    assert "classifier" not in first, "a method that releases no means has no classifier"
    assert judge(tmp_path / "run", world, private=str(world / "private"), mix=True) == first


def test_released_means_are_scored_without_any_image(tmp_path: Path, world):
    root = make_paid_run(tmp_path / "means", new_plan(candidates=4, initial=4, **MEANS))
    own, test = judge(root, world)["classifier"], load_folder(world / "test")
    said = NearestMean.of(root, lambda plan: encoder()).classes(Labelled.of(test).images)
    right = np.mean(said == test.targets)
    assert own["judge"] == "dp-means-classifier"
    assert (own["dataset"]["accuracy"]["mean"], own["dataset"]["accuracy"]["sem"]) == (right, 0)
    assert read_runs([root])[0].judges["dp-means-classifier"]["mean"] == right
    with (root / "release" / "manifest.json").open("a") as manifest:
        manifest.write("\n")
    assert read_runs([root])[0].judges == {}, "those were of the dataset before it grew"


def test_released_means_are_not_scored_by_other_weights_than_the_run_had(tmp_path: Path, world):
    root = make_paid_run(
        tmp_path / "means", new_plan(candidates=4, initial=4, **{**MEANS, "weights": "0" * 64})
    )
    with pytest.raises(ModelError, match="the run was judged by weights of encoder bundled with sha256 000"):
        judge(root, world)
    assert "--encoder-weights" in command("--help").stdout


def test_a_run_is_measured_and_compared_from_within_its_folder(tmp_path: Path, world, monkeypatch):
    for name in ("run", "run-random"):
        shutil.copytree(world / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / "run")
    found = judge(Path(), world)
    assert (found["run"], found["control"]) == ("run", "run-random")
    next((tmp_path / "run-random" / "release" / "cut").glob("*.png")).unlink()
    assert judge(Path(), world)["control"] == "run-random (of 11 images, the dataset has 12)"
    assert [each.name for each in read_runs([Path()])] == ["run"]


@pytest.mark.models
def test_the_encoder_that_selected_voted_with_or_without_its_spectrum(tmp_path: Path, world, monkeypatch):
    monkeypatch.setattr(heads, "STEPS", 10)  # who voted is asked, not how well they judge
    monkeypatch.setattr(heads, "train_cnn", partial(heads.train_cnn, steps=10))
    plan = new_plan(candidates=4, initial=4, method="jvem", prototypes=2, delta=choose_delta("jvem"))
    root = make_paid_run(tmp_path / "run", plan)
    found = judge(root, world, "bundled", "cnn", "bundled+spectrum")
    assert [row["judge"] for row in found["judges"]] == ["cnn", "bundled", "bundled+spectrum"]
    assert [row["voted"] for row in found["judges"]] == [False, True, True]
    said = command(root, "--test", world / "test", "--judge", "bundled").stdout
    assert "bundled (voted)" in said
    assert "every judge uses the encoder that also selected" in said


@pytest.mark.models
def test_figures_and_pictures_of_confusions_lie_where_only_their_owner_can_read_them(tmp_path: Path, world):
    root = shutil.copytree(world / "run", tmp_path / "run")
    found = judge(root, world)
    private = OwnerFolder.of(root).root
    assert json.loads((private / "judgement.json").read_text())["judges"][0] == found["judges"][0]
    picture = private / "confusion-bundled.png"
    paths = (private.parent, private, private / "judgement.json", picture)
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700, 0o700, 0o600, 0o600]
    with Image.open(picture) as shown:
        diagonal, other = (shown.convert("RGB").getpixel((150 + 8 + 64 * k, 150 + 8)) for k in (0, 1))
    assert diagonal[0] < 30 < 200 < other[0]


def test_judges_that_were_asked_before_stay_beside_those_of_today_on_the_same_images_alone(
    tmp_path: Path, world
):
    root = finish_run(tmp_path / "run")

    def kept(world: Path, name: str) -> list[str]:
        judge(root, world, name)
        rows = json.loads(OwnerFolder.of(root).judgement.read_text())["judges"]
        return [row["judge"] for row in rows]

    assert kept(world, "bundled+spectrum") == ["bundled+spectrum"]
    for _ in range(2):
        assert kept(world, "bundled") == ["bundled", "bundled+spectrum"]
    assert read_runs([root])[0].judges.keys() == {"bundled", "bundled+spectrum"}
    toned_folders(tmp_path / "other" / "test", TONES, 12, 5)
    assert kept(tmp_path / "other", "bundled") == ["bundled"], "of other images"


def test_the_run_s_record_is_what_it_was(tmp_path: Path, world):
    root = finish_run(tmp_path / "run")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    judge(root, world, private=str(world / "private"))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert [fault for each in audit(root, lambda plan: encoder()) for fault in each.faults] == []


def test_with_four_test_images_accuracies_are_told_without_distances(tmp_path: Path, world):
    (tmp_path / "run").symlink_to(world / "run")
    toned_folders(tmp_path / "test", TONES, 2, 1)
    (row,) = judge(tmp_path / "run", tmp_path)["judges"]
    assert row["dataset"]["accuracy"]["mean"] > 0.5
    assert not row.keys() & {"distances", "control_distances"}


def test_a_planted_copy_is_named(tmp_path: Path, world):
    root = shutil.copytree(world / "run", tmp_path / "run")
    shutil.copy(world / "private" / "good" / "3.png", root / "release" / "good" / "0.png")
    (row,) = judge(root, world, private=str(world / "private"))["judges"]
    assert row["memorisation"]["copies"] == ["release/good/0.png"]


def test_without_a_control_labels_are_shuffled(tmp_path: Path, world):
    root = shutil.copytree(world / "run", tmp_path / "run")
    line = command(root, "--test", world / "test", "--judge", "bundled", "--json").stdout
    found = json.loads(line.strip().splitlines()[-1])
    (row,) = found["judges"]
    table = command(root, "--test", world / "test", "--judge", "bundled").stdout
    for part in ("shuffled", "guessing gives 50.0%", "(there are few images, so compare"):
        assert part in " ".join(table.split())
    assert found["control"] == "labels shuffled"
    assert row["shuffled"]["accuracy"]["mean"] < row["dataset"]["accuracy"]["mean"]
    assert "random" not in row, "that is the name of a control run"
    assert "memorisation" not in row


@pytest.mark.parametrize(
    ("changes", "error", "complaint"),
    [
        ({"test": "nowhere"}, DataError, "no such folder"),
        ({"test": "other"}, UsageError, "has the classes bad, fine, but the run has cut, good"),
        ({"judges": ("nobody",)}, UsageError, "no encoder 'nobody'"),
        ({"judges": ("resnet50=nowhere.pt",)}, ModelError, "nowhere.pt"),
        ({"control": Path("run")}, UsageError, "is not a run of method random"),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, monkeypatch, world, changes, error, complaint):
    root = finish_run(tmp_path / "run", method="t2i", iterations=0, strengths=())
    shutil.copytree(world / "test", tmp_path / "other")
    for old, new in zip(LABELS, ("bad", "fine"), strict=True):
        (tmp_path / "other" / old).rename(tmp_path / "other" / new)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=complaint):
        evaluate(root, EvaluationRequest(**{"test": str(world / "test"), **changes}))
    assert not OwnerFolder.of(root).root.exists()


def command(*words: object):
    return CliRunner().invoke(app, ["evaluate", *map(str, words)])


@pytest.mark.parametrize(
    ("voted", "trained", "tests", "is_better"),
    [
        (False, 0.5, 40, True),
        (False, 0.9, 40, False),
        (True, 0.5, 40, True),
        (True, 0.9, 40, False),
        (False, 0.5, 10, False),  # eight of ten are within two standard errors of a half
    ],
)
def test_released_means_that_beat_the_images_are_told_with_the_command(voted, trained, tests, is_better):
    def make_score(judge: str, mean: float, **more: bool) -> dict[str, Any]:
        return {"judge": judge, "dataset": {"accuracy": {"mean": mean}}, **more}

    judges = [make_score("cnn", trained, voted=voted)]
    found = {"judges": judges, "chance": 0.5, "test_images": tests}
    said = _compare_classifier(make_score("dp-means-classifier", 0.8), found, Images.nouns)
    assert "as a classifier, without training: 80.0%" in said
    assert (
        "more accurate than a classifier trained on the dataset: use pcevolve classify RUN FILES" in said
    ) == is_better


def test_all_that_judges_do_is_counted_as_soon_as_it_is_done(world):
    heard: list[tuple[int, int]] = []
    question = EvaluationRequest(
        str(world / "test"), str(world / "private"), mix=True, judges=("bundled", "bundled+spectrum")
    )
    evaluate(world / "run", question, lambda done, total: heard.append((done, total)))
    assert len(heard) > 10  # of each hundredth, where the work comes in pieces as small
    assert heard == sorted(heard)
    (whole,) = {each for _, each in heard}
    assert heard[-1][0] == pytest.approx(whole, rel=0.01), "what was forecast is what was done"


class InTurn:
    """Workers that do each piece of work when its result is wanted."""

    def submit(self, work: Callable[..., Any], *given: Any) -> SimpleNamespace:
        return SimpleNamespace(result=lambda: work(*given))


@pytest.mark.parametrize("mix", [False, True])
def test_a_forecast_is_told_beforehand_and_right_within_a_factor_of_one_and_a_half(monkeypatch, mix: bool):
    """Judges of different paces, by a clock that they alone move."""
    monkeypatch.setattr(Evaluation, "_draw", lambda *_: None)
    monkeypatch.setattr(Evaluation, "_measure_embeddings", lambda *_: {})
    clock = [0.0]
    monkeypatch.setattr(forecast, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(judge_module, "lone_workers", lambda threads: nullcontext(InTurn()))
    for module in (forecast, judge_module):
        monkeypatch.setattr(module, "thread_count", lambda: 1)

    def make_judge(name: str, look_seconds: float, step: float) -> Evaluator:
        def look(items: Sequence[Any]) -> np.ndarray:
            clock[0] += look_seconds * len(items)
            return np.asarray(items, dtype=float)

        def train(on: Training, seed: int) -> Predict:
            steps = heads.STEPS if on.most is None else on.most
            clock[0] += steps * step * min(len(on.targets), 64) / 64
            return lambda rows: np.zeros(len(rows), dtype=np.int64)

        return Evaluator(name, False, look, train)

    def make_set(items: int) -> Labelled:
        return Labelled([np.arange(3) + number for number in range(items)], np.arange(items) % 2)

    judges = [make_judge("slow to train", 1e-4, 5e-3), make_judge("slow to look", 4e-3, 5e-4)]
    heard: list[tuple[float, float]] = []
    wholes: set[int] = set()
    beforehand: list[float] = []

    def tell(seconds: float) -> None:
        assert not heard
        beforehand.append(seconds)

    def hear(done: int, whole: int) -> None:
        heard.append((clock[0], done / whole))
        wholes.add(whole)

    Evaluation(
        *(Path(), ("a", "b"), make_set(200), judges, make_set(100), make_set(20)),
        mix=mix,
        show_progress=hear,
        tell_forecast=tell,
    ).judge()
    (told,) = beforehand
    assert {round(1000 * told)} == wholes
    assert 1 / 1.5 < told / clock[0] < 1.5
    forecasts = [gone / share / clock[0] for gone, share in heard if share > 0.1]
    assert len(forecasts) > 10
    assert 1 / 1.5 < min(forecasts) <= max(forecasts) < 1.5


def test_a_judge_that_learns_nothing_is_left_out_of_the_word_and_named():
    def train(on: Training, seed: int) -> Predict:
        means = np.stack([on.features[on.targets == k].mean(axis=0) for k in (0, 1)])
        return lambda rows: ((rows[:, None] - means) ** 2).sum(axis=-1).argmin(axis=1)

    def make_set(items: int) -> Labelled:
        targets = np.arange(items) % 2
        return Labelled([np.full(3, 4.0 * each) for each in targets], targets)

    def look(points: Sequence[Any]) -> np.ndarray:
        return np.asarray(points, dtype=float)

    dull = Evaluator("dull", False, look, lambda on, seed: lambda rows: np.zeros(len(rows), dtype=np.int64))
    judges = [dull, Evaluator("near", False, look, train)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluation, "_draw", lambda *_: None)
        patch.setattr(Evaluation, "_measure_embeddings", lambda *_: {})
        found = Evaluation(
            Path(), ("a", "b"), make_set(40), judges, make_set(60), private=make_set(20)
        ).judge()
    assert found["measured"]["judges"] == ["near"]
    assert found["measured"]["share"][0] == 1
    assert "dull could not learn the private images" in found["measured"]["sentence"]
    assert [row["judge"] for row in found["judges"]] == ["dull", "near"], "its figures are told all the same"


@pytest.mark.statistical
def test_shuffled_labels_err_by_as_much_as_permutations_differ():
    """A classifier of two classes far apart gets all or nothing right, as a permutation has it.

    With one permutation for all seeds the error was that of the seeds alone, and chance far outside of it.
    """

    def nearest(training: Training, seed: int) -> Predict:
        means = np.stack([training.features[training.targets == k].mean(axis=0) for k in (0, 1)])
        return lambda rows: ((rows[:, None] - means) ** 2).sum(axis=-1).argmin(axis=1)

    def look(points: Sequence[Any]) -> np.ndarray:
        return np.asarray(points)

    random, held = np.random.default_rng(5), []
    for _ in range(100):
        # One set for each of many worlds: two classes far apart, in an order of their own.
        order = random.permutation(np.arange(20) % 2)
        made = Labelled(list(random.normal(size=(20, 3)) + 4 * order[:, None]), order)
        truth = np.arange(40) % 2
        test = Labelled(list(random.normal(size=(40, 3)) + 4 * truth[:, None]), truth)
        own = Evaluation(Path(), ("a", "b"), made, [Evaluator("near", False, look, nearest)], test)
        seen = {"dataset": (look(made.images), made.targets)}
        said = own._predict(0, seen, look(test.images), JudgePace(0, 0), Forecast(no_progress, 0))[0][
            "shuffled"
        ]
        found = Accuracy.of([np.mean(each == truth) for each in said])
        assert len(found.seeds) == 10
        held.append(
            abs(found.mean - 0.5) <= 2.262 * found.sem
        )  # Student's t of nine degrees of freedom: 95 %
    assert 0.9 < np.mean(held) <= 1


def test_a_mix_needs_the_private_images(world):
    refused = command(world / "run", "--test", world / "test", "--mix").exception
    assert isinstance(refused, ClientError)
    assert "--private" in str(refused)
