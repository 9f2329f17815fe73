"""Measure a finished run's dataset on the owner's data, with judges that the owner names (composition root).

All figures are private: they are stored in the owner's folder and shown on the owner's screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import UsageError
from pcevolve.keeper.evaluation.closeness import describe_embeddings
from pcevolve.keeper.evaluation.forecast import Forecast, JudgePace
from pcevolve.keeper.evaluation.heads import Training
from pcevolve.keeper.evaluation.judge import (
    DRAWS,
    SEEDS,
    Evaluator,
    EvaluatorAccuracy,
    Features,
    IntArray,
    find_redrawing,
    find_usable,
    redraw_all,
)
from pcevolve.keeper.evaluation.labelled import RANDOM_CONTROL, SHUFFLED, Labelled, find_control
from pcevolve.keeper.evaluation.worth import DATASET, SHOTS, Accuracies, Right, Worth
from pcevolve.keeper.finished.classification import NearestMean
from pcevolve.keeper.finished.held_out import find_origin, has_voted, require_held_out
from pcevolve.keeper.finished.judging import (
    FREE,
    describe_worth,
    digest_subject,
    keep_judgement,
    load_judges,
)
from pcevolve.keeper.finished.use_page import Confusion, make_page
from pcevolve.keeper.kind import PrivateKind, load_kind, read_owned
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private_data import name_classes
from pcevolve.public.durable import write_private_bytes
from pcevolve.public.encoders import Encoder
from pcevolve.public.media.images.sheet import draw_confusion
from pcevolve.public.modality import MODALITIES, Kind, Nouns
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.transcript.reader import RunReader

CLASSIFIER = "dp-means-classifier"
"""Name of the classifier of a run's released class means among the judges."""
COMPARED = {"dataset": DATASET, "private": SHOTS, "words": FREE["initial"], RANDOM_CONTROL: FREE["random"]}
"""Name of each compared set in ``Worth``, by the set's name in this module."""
CONTROLS = ("words", RANDOM_CONTROL)
"""Names of the sets that cost no privacy."""
PERMUTATIONS = 10
"""Number of controls with shuffled labels.

A classifier trained on a single permutation can be accurate by luck: it may reach 83 %, for example, where chance is
50 %.
"""


@dataclass(frozen=True, repr=False)
class EvaluationRequest:
    """The owner's request.

    Attributes:
        control: Folder of a control run; None for the control beside the run.
        weights: Weights of the encoder that selected; None for the file that the run was given, if any.
    """

    test: str
    private: str | None = None
    mix: bool = False
    judges: tuple[str, ...] = ()
    control: Path | None = None
    device: str = "auto"
    weights: str | None = None


def evaluate(
    root: Path,
    question: EvaluationRequest,
    show_progress: ProgressCallback = no_progress,
    load: Callable[[PublicPlan, str | None], Encoder] | None = None,
    tell_forecast: Callable[[float], None] | None = None,
) -> dict[str, object]:
    """Measure a finished run, store the figures in the owner's folder, and return them.

    Args:
        show_progress: Progress callback, called with finished and total work.
        load: Loads the encoder that the plan names, from a file of weights if given. Without ``load``,
            released class means are not scored.
        tell_forecast: Called once, before the first training, with the forecast total time in seconds.

    Raises:
        DataError: Images cannot be used, or test images are private ones.
        ModelError: Weights are missing, either of a judge or of the encoder of released means.
        UsageError: The run is unfinished, or has other classes.
    """
    plan = RunReader.strict(root).require_plan()
    control = find_control(root, question.control)
    kind, folder = plan.modality.kind, RunFolder(root)
    origin = find_origin(folder)
    test, private = _owners(question.test, plan, "--test", origin), None
    if question.private is not None:
        private = _owners(question.private, plan, "--private", origin)
    unchecked = require_held_out(test, private, folder, plan, f"--test {question.test}")
    voter = plan.encoder.name if has_voted(plan) else None
    judges = load_judges(question.judges, voter, question.device, kind, plan.encoder.weights)
    dataset = Labelled.released(root, plan.labels)
    classifier = None if load is None else _find_classifier(folder, question.weights, load)
    tested, owned = Labelled.of(test), None if private is None else Labelled.of(private)
    words = Labelled.drawn_by_words(root) if voter is not None else None
    with OwnerFolder.of(root).hold():
        found = Evaluation(
            root,
            plan.labels,
            dataset,
            judges,
            tested,
            owned,
            control,
            question.mix,
            show_progress,
            kind,
            classifier,
            words,
            tell_forecast,
        ).measure()
    return {**found, "not_checked": unchecked} if unchecked else found


def _find_classifier(
    folder: RunFolder, weights: str | None, load: Callable[[PublicPlan, str | None], Encoder]
) -> NearestMean | None:
    """Load a run's released class means with the encoder that made them; None if the run has no means."""
    if not folder.classifier.is_file():
        return None
    if weights is None and (options := OwnerFolder.of(folder.root).find_options()) is not None:
        weights = options.encoder.weights
    return NearestMean.of(folder.root, lambda plan: load(plan, weights))


def _owners(given: str, plan: PublicPlan, option: str, folder: RunFolder) -> PrivateDataset:
    """Read the owner's images or texts that an option names, under the run's labels; errors as in ``read_owned``."""
    owner = OwnerFolder.of(folder.root)
    # If prompts use other words for the classes, only the owner's options map folders to classes.
    began = owner.require_options() if plan.data.words else owner.find_options()
    data = read_owned(given, plan, option, began)
    if plan.data.words and began is not None:
        data = name_classes(data, began.data.words)
    if data.labels != plan.labels:
        raise UsageError(
            f"{option} {given} has the classes {', '.join(data.labels)}, but the run has "
            f"{', '.join(plan.labels)}"
        )
    return data


@dataclass(frozen=True, repr=False)
class Evaluation:
    root: Path
    labels: tuple[str, ...]
    dataset: Labelled
    judges: Sequence[Evaluator]
    test: Labelled
    private: Labelled | None = None
    control: Path | None = None
    mix: bool = False
    show_progress: ProgressCallback = no_progress
    kind: Kind = "image"
    classifier: NearestMean | None = None
    words: Labelled | None = None
    tell_forecast: Callable[[float], None] | None = None

    def measure(self) -> dict[str, object]:
        """Measure the dataset, store the figures and return them (``DataError`` if a class has no usable image)."""
        found: dict[str, object] = {
            "run": self.root.absolute().name,
            "subject": digest_subject(self.test.digest, filter(None, (self.root, self.control))),
            "test": self.test.digest.hex(),
            "manifest": RunFolder(self.root).digest_manifest(),
            **self.judge(),
        }
        keep_judgement(self.root, found)
        if "measured" in found:
            found["use_page"] = str(self._write_page(found))
        return found

    def judge(self) -> dict[str, object]:
        """Measure the dataset and store only pictures of confusions; errors as in ``measure``."""
        sets = dict(self._sets())
        copied = {} if self.private is None else self._own.find_copied_words(self.dataset, self.private)
        return {
            "classes": list(self.labels),
            "chance": 1 / len(self.labels),
            f"test_{self._nouns.many}": len(self.test.images),
            "control": self._describe_control(sets),
            **copied,
            **self._score_classifier(),
            **self._judge_all(sets),
        }

    def _write_page(self, found: Mapping[str, Any]) -> Path:
        """Write the owner's page on the dataset's usefulness, with the first judge's confusions."""
        row, page = found["judges"][0], OwnerFolder.of(self.root).use_page
        confusion = Confusion(row["judge"], self.labels, row["dataset"]["confusion"])
        made = self.dataset.images, self.dataset.targets.tolist()
        return make_page(
            page,
            self.root.absolute().name,
            self.kind,
            found["measured"],
            confusion,
            self.judges[0],
            made,
            () if self.private is None else self.private.images,
        )

    def _judge_all(self, sets: Mapping[str, Labelled]) -> dict[str, object]:
        """Return each judge's figures, and the verdict of the judges that did not vote."""
        rows, answers = [], {}
        redrawn: dict[str, Accuracies] = {}
        learnt: dict[str, float] = {}
        paces = [JudgePace.of(judge, self.test.images, len(self.labels)) for judge in self.judges]
        forecast = self._forecast(paces, sets)
        if self.tell_forecast is not None:
            self.tell_forecast(forecast.whole)
        for place, judge in enumerate(self.judges):
            row, right, drawn, well = self._row(place, sets, paces[place], forecast)
            rows.append(row)
            redrawn |= drawn
            learnt |= {} if well is None else {judge.name: well}
            if not judge.voted:
                answers[judge.name] = right
        if not answers:
            return {"judges": rows}
        worth = Worth.of(answers, len(self.labels), redrawn, learnt)
        return {"judges": rows, "measured": describe_worth(worth, self.kind)}

    def _forecast(self, paces: Sequence[JudgePace], sets: Mapping[str, Labelled]) -> Forecast:
        """Forecast the time of all embeddings and of the trainings that ``_list_trainings`` lists."""
        sizes = {name: len(each.images) for name, each in sets.items()}
        looked, tested = sum(sizes.values()), len(self.test.images)
        if self.mix:
            sizes["both"] = sizes["private"] + sizes["dataset"]
        once = [*sizes.values()] * SEEDS + [sizes["dataset"]] * PERMUTATIONS * (self.control is None)
        again = [sizes[name] for name in CONTROLS if name in sizes] * DRAWS
        whole = sum(pace.look * (looked + tested) for pace in paces)
        whole += sum(pace.train(size, tested) for pace in paces for size in once)
        redrawing = paces[self.judges.index(find_redrawing(self.judges))]
        return Forecast(self.show_progress, whole + sum(redrawing.train(size, tested) for size in again))

    def _describe_control(self, sets: Mapping[str, Labelled]) -> str:
        """Name the control; state its size if that differs from the dataset's: larger sets teach a judge more."""
        if self.control is None:
            return "labels shuffled"
        has, due = (len(sets[name].images) for name in (RANDOM_CONTROL, "dataset"))
        return self.control.name + (
            "" if has == due else f" (of {self._nouns.count(has)}, the dataset has {due})"
        )

    def _row(
        self, place: int, sets: Mapping[str, Labelled], pace: JudgePace, forecast: Forecast
    ) -> tuple[dict[str, object], dict[str, Right], dict[str, Accuracies], float | None]:
        """Measure one judge on every set.

        Returns:
            The judge's figures; by compared set, whether each prediction was right; accuracies on redrawn
            controls, if this judge measures them; the accuracy on the private training images, or None if
            there are none.
        """
        judge, real = self.judges[place], self.judges[place].look(self.test.images)
        forecast.add(pace.look * len(real))
        seen = {}
        for name, each in sets.items():
            seen[name] = judge.look(each.images)
            forecast.add(pace.look * len(each.images))
        known = {name: (seen[name], sets[name].targets) for name in sets}
        predictions, again, learnt = self._predict(place, known, real, pace, forecast)
        truth = self.test.targets[find_usable(real)]
        verdicts = {
            name: EvaluatorAccuracy.of(of_set, truth, self.labels) for name, of_set in predictions.items()
        }
        self._draw(judge, verdicts["dataset"])
        right = {
            called: np.stack([each == truth for each in predictions[name]])
            for name, called in COMPARED.items()
            if name in predictions
        }
        row = {
            "judge": judge.name,
            "voted": judge.voted,
            **{name: each.to_json() for name, each in verdicts.items()},
            **self._measure_embeddings(judge, seen, real),
        }
        drawn = {COMPARED[name]: np.mean(np.stack(each) == truth, axis=1) for name, each in again.items()}
        return row, right, drawn, learnt

    @property
    def _nouns(self) -> Nouns:
        return MODALITIES[self.kind].nouns

    @property
    def _own(self) -> PrivateKind:
        return load_kind(self.kind)

    def _score_classifier(self) -> dict[str, object]:
        """Score the classifier of the run's released class means, which needs neither images nor training.

        The score is the yardstick of every dataset: images are worth making if a classifier trained on them
        does better.
        """
        if self.classifier is None:
            return {}
        predictions = self.classifier.classes(self.test.images)
        tested = predictions >= 0
        verdict = EvaluatorAccuracy.of([predictions[tested]] * SEEDS, self.test.targets[tested], self.labels)
        return {"classifier": {"judge": CLASSIFIER, "voted": True, "dataset": verdict.to_json()}}

    def _sets(self) -> Iterator[tuple[str, Labelled]]:
        """Yield the sets that the judges learn from, by name."""
        yield "dataset", self.dataset
        if self.control is not None:
            yield RANDOM_CONTROL, Labelled.released(self.control, self.labels)
        if self.words is not None:
            yield "words", self.words
            if self.control is None and (chosen := self.words.choose_at_random(self.dataset)) is not None:
                yield RANDOM_CONTROL, chosen
        if self.private is not None:
            yield "private", self.private

    def _predict(
        self,
        place: int,
        seen: Mapping[str, tuple[Features, NDArray[np.int64]]],
        real: Features,
        pace: JudgePace,
        forecast: Forecast,
    ) -> tuple[dict[str, list[IntArray]], dict[str, list[IntArray]], float | None]:
        """Train a judge on all sets in parallel, and predict held-out data.

        Returns:
            Predictions by set; predictions after training on other draws of a control, by control; the
            accuracy on the private training images.
        """
        judge, tested = self.judges[place], find_usable(real)
        trainings = self._list_trainings(judge, seen)
        redrawing = self.judges.index(find_redrawing(self.judges))
        once = {name: each[0] for name, each in trainings.items()}
        again = redraw_all(once, CONTROLS) if place == redrawing else {}
        due = [*trainings.values(), *again.values()]
        costs = (pace.train(len(on.targets), len(self.test.images)) for on in chain.from_iterable(due))
        checked = list(trainings).index("private") if "private" in trainings else None
        predictions, learnt = judge.predict_and_check(
            due, real[tested], checked, lambda: forecast.add(next(costs))
        )
        redrawn = dict(zip(again, predictions[len(trainings) :], strict=True))
        return dict(zip(trainings, predictions, strict=False)), redrawn, learnt

    def _list_trainings(
        self, judge: Evaluator, seen: Mapping[str, tuple[Features, NDArray[np.int64]]]
    ) -> dict[str, list[Training]]:
        """Return the training data of every classifier, by set; a set has one classifier per seed."""
        sets = dict(seen)
        if self.mix:
            (mine, own), (made, targets) = sets["private"], sets["dataset"]
            sets["both"] = np.concatenate([mine, made]), np.concatenate([own, targets])
        trainings = {name: [judge.prepare(*each, self.labels)] * SEEDS for name, each in sets.items()}
        if self.control is None:
            on = trainings["dataset"][0]
            trainings[SHUFFLED] = [
                replace(on, targets=np.random.default_rng(seed).permutation(on.targets))
                for seed in range(PERMUTATIONS)
            ]
        return trainings

    def _draw(self, judge: Evaluator, verdict: EvaluatorAccuracy) -> None:
        name = "".join(each if each.isalnum() else "-" for each in judge.name.partition("=")[0])
        path = OwnerFolder.of(self.root).root / f"confusion-{name}.png"
        write_private_bytes(
            path,
            draw_confusion(f"{judge.name} on {self.root.absolute().name}", verdict.confusion, self.labels),
        )

    def _measure_embeddings(
        self, judge: Evaluator, seen: Mapping[str, Features], real: Features
    ) -> dict[str, object]:
        """Measure distances and copies, if the judge's features are embeddings."""
        if judge.name == MODALITIES[self.kind].independent_classifier:
            return {}
        compared = seen["dataset"], seen.get(RANDOM_CONTROL), seen.get("private")
        return describe_embeddings(*compared, real, self.dataset.names)
