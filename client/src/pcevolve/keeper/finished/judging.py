"""Judges of a finished run: how they are chosen, their answers, and where figures are stored.

Figures go to the owner's folder and screen, never into files that may be shared. Shared files are functions
of the transcript, and measured accuracy is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.keeper.evaluation.heads import train_linear
from pcevolve.keeper.evaluation.judge import (
    SEEDS,
    Accuracy,
    AccuracyTest,
    Evaluator,
    IntArray,
    LabelledSet,
    find_redrawing,
    redraw_all,
)
from pcevolve.keeper.evaluation.labelled import Labelled, find_control
from pcevolve.keeper.evaluation.worth import (
    DATASET,
    LEAST_ITEMS,
    SHOTS,
    WORTHY,
    Accuracies,
    Failure,
    Interval,
    Right,
    Worth,
)
from pcevolve.keeper.finished.outcome import Outcome
from pcevolve.keeper.finished.use_page import Confusion, make_page
from pcevolve.keeper.kind import load_kind
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.durable import write_private
from pcevolve.public.encoders import OF_SEVERAL, Encoder, load_encoder, named_weights
from pcevolve.public.encoders.published import list_at_hand, resolve
from pcevolve.public.figures import spell_count
from pcevolve.public.loop.lineage import Population
from pcevolve.public.media import find_medium
from pcevolve.public.media.images.appearance import Appearance, find_released_appearance
from pcevolve.public.modality import MODALITIES, Kind, join
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.selectors import find_method
from pcevolve.public.transcript.bodies import Bodies


def load_judges(
    names: Iterable[str], voter: str | None, device: str, kind: Kind = "image", weights: str | None = None
) -> list[Evaluator]:
    """Load judges; those that did not vote come first.

    Args:
        names: Encoders as ``NAME`` or ``NAME=WEIGHTS``, or the kind's independent classifier (``cnn`` for
            images, ``ngrams`` for texts). By default, that classifier and all encoders on this machine.
        voter: The encoder by which the run selected; None if the run compared nothing.
        weights: SHA-256 of the voter's weights, hex; None for published weights.

    Raises:
        UsageError: There is no such encoder, or it is for another kind.
        ModelError: Weights are missing.
    """
    asked = list(names) or list_judges(kind)
    found = [_judge(name, voter, weights, device, kind) for name in asked]
    return sorted({each.name: each for each in found}.values(), key=lambda each: each.voted)


def list_judges(kind: Kind) -> list[str]:
    """Return the default judges; the network trained from scratch comes before the bundled encoder."""
    *fetched, bundled = list_at_hand(kind)
    return [*fetched, MODALITIES[kind].independent_classifier, bundled]


def load_quick_judges(encoder: Encoder, voted: bool, device: str, kind: Kind = "image") -> list[Evaluator]:
    """Load the judges of a run that has just ended: those that did not vote first, the run's own encoder last.

    The network trained from scratch takes a quarter of its usual steps, so that judging does not take
    longer than the rest of the run.

    Raises:
        ModelError: Weights of another fetched encoder cannot be read.
    """
    others = [name for name in list_at_hand(kind) if not _same(name, encoder.name)][:1]
    heads = [Evaluator(name, False, load_encoder(name, None, device).embed, train_linear) for name in others]
    return [
        load_kind(kind).make_independent(quick=True),
        *heads,
        Evaluator(encoder.name, voted, encoder.embed, train_linear),
    ]


def _judge(name: str, voter: str | None, voting: str | None, device: str, kind: Kind) -> Evaluator:
    if name == MODALITIES[kind].independent_classifier:
        return load_kind(kind).make_independent()
    named, _, weights = name.partition("=")
    encoder = load_encoder(resolve(named, kind)[0], weights or None, device)
    digest = named_weights(encoder.name, weights or None)
    # One name may have two files of weights, and published weights may also be given as a file. The digest of
    # a joined encoder does not identify its parts. If in doubt, the judge counts as having voted.
    unsure = None in (digest, voting) or not OF_SEVERAL.keys().isdisjoint((encoder.name, voter))
    voted = voter is not None and _same(encoder.name, voter) and (digest == voting or unsure)
    # Figures are stored under the encoder's own name, because ``auto`` may later choose another encoder.
    known = name if named == encoder.name else encoder.name
    return Evaluator(known, voted, encoder.embed, train_linear)


def _same(first: str, second: str) -> bool:
    """True if two names mean the same encoder, or if one encoder is a part of the other.

    The suffix after ``+`` (views) is ignored, and the short and the full name of a CLIP are equal.
    """
    if first.partition(":")[0] == second.partition(":")[0] == "clip":
        from pcevolve.public.encoders.loading import parse_clip_name

        return parse_clip_name(first) == parse_clip_name(second)
    parts = ({*OF_SEVERAL.get(each, (each.partition("+")[0],))} for each in (first, second))
    return bool(set.intersection(*parts))


def digest_subject(test: bytes, runs: Iterable[Path]) -> str:
    """Return the SHA-256 of the judged data; figures with different digests must not be combined."""
    manifests = (bytes.fromhex(RunFolder(root).digest_manifest()) for root in runs)
    return hashlib.sha256(test + b"".join(manifests)).hexdigest()


def keep_judgement(root: Path, found: Mapping[str, Any]) -> None:
    """Store figures, followed by earlier judges' figures about the same data."""
    path = OwnerFolder.of(root).judgement
    before = json.loads(path.read_bytes()) if path.is_file() else {}
    asked = {row["judge"] for row in found["judges"]}
    rows = before.get("judges", []) if before.get("subject") == found["subject"] else []
    kept = [row for row in rows if row["judge"] not in asked]
    write_private(path, {**found, "judges": [*found["judges"], *kept]})


MOST_SHOTS = 200
"""Largest number of private images per class on which a judge is trained.

More images add little accuracy, and training would take most of a run's time.
"""
FREE = {"initial": "words alone", "random": "a random choice"}
"""Names of the sets that cost no privacy, by their keys in a summary."""


@dataclass(frozen=True, repr=False)
class Answers:
    """One judge's predictions for held-out data; private.

    Attributes:
        judge: The judge.
        truth: int64 ``(items,)``.
        predictions: By training set, int64 ``(seeds, items)``.
        redrawn: Accuracies after training on other draws of a control, by control.
        learnt: The worst seed's accuracy on the private training images; None without these.
    """

    judge: Evaluator
    truth: IntArray
    predictions: Mapping[str, IntArray]
    redrawn: Mapping[str, Accuracies]
    learnt: float | None = None

    @property
    def right(self) -> Mapping[str, Right]:
        """Whether each prediction was right, by set."""
        return {name: each == self.truth for name, each in self.predictions.items()}

    def as_json(self) -> dict[str, Any]:
        accuracies = {
            name: Accuracy.of(each.mean(axis=1).tolist()).to_json() for name, each in self.right.items()
        }
        return {"judge": self.judge.name, "voted": self.judge.voted, **accuracies}

    def confuse(self, labels: Sequence[str]) -> Confusion:
        """Return the confusion counts of the classifiers trained on the dataset."""
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for of_seed in self.predictions["final"]:
            np.add.at(counts, (self.truth, of_seed), 1)
        return Confusion(self.judge.name, labels, counts.tolist())


def ask_judges(
    outcome: Outcome,
    held_out: PrivateDataset,
    sets: Mapping[str, LabelledSet],
    show_progress: ProgressCallback,
) -> list[Answers]:
    """Train each judge of a run on every set, and predict held-out data; judges that did not vote come first."""
    parts, kind, found = outcome.components, outcome.plan.modality.kind, []
    voted, device = parts.method.queries_data, parts.settings.encoder.device
    judges = load_quick_judges(parts.encoder, voted, device, kind)
    for place, judge in enumerate(judges):
        show_progress(place, len(judges))
        test = AccuracyTest.on(held_out, judge)
        trainings = {name: test.prepare(each) for name, each in sets.items()}
        again = redraw_all(trainings, FREE) if judge is find_redrawing(judges) else {}
        due = [*([each] * SEEDS for each in trainings.values()), *again.values()]
        checked = list(sets).index("shots") if "shots" in sets else None
        answered, learnt = judge.predict_and_check(due, test.features, checked)
        predictions = [np.stack(each) for each in answered]
        drawn = {
            name: np.mean(each == test.targets, axis=1)
            for name, each in zip(again, predictions[len(sets) :], strict=True)
        }
        by_set = dict(zip(sets, predictions[: len(sets)], strict=True))
        found.append(Answers(judge, test.targets, by_set, drawn, learnt))
    return found


def score(outcome: Outcome, show_progress: ProgressCallback = no_progress) -> dict[str, Any]:
    """Return the run's summary, with each judge's accuracies if there are test data."""
    held_out = outcome.components.test
    if held_out is None:
        return outcome.summary
    show_progress(0, 1)
    words, made = label_sets(outcome, held_out.labels, every=False)
    sets = {"initial": words, "final": made}
    if (chosen := _choose_at_random(outcome, held_out.labels, words, made)) is not None:
        sets["random"] = chosen.images, chosen.targets.tolist()
    sets["shots"] = label_shots(outcome.components.data)
    return keep_accuracy(outcome, ask_judges(outcome, held_out, sets, show_progress), sets)


def _choose_at_random(
    outcome: Outcome, labels: Sequence[str], words: LabelledSet, made: LabelledSet
) -> Labelled | None:
    """Return the dataset of the control beside a run.

    Without a control, choose at random among the images made from words.
    """
    if (control := find_control(outcome.folder.root, None)) is not None:
        return Labelled.released(control, labels)
    if not find_method(outcome.plan.method.name).queries_data:
        return None
    first, due = (Labelled(images, np.asarray(targets, dtype=np.int64)) for images, targets in (words, made))
    return first.choose_at_random(due)


def label_shots(private: PrivateDataset) -> LabelledSet:
    """Return the private images to train on, at most ``MOST_SHOTS`` per class."""
    places = [
        int(place)
        for target in np.unique(private.targets)
        for place in np.flatnonzero(private.targets == target)[:MOST_SHOTS]
    ]
    return [private.items[place] for place in places], private.targets[places].tolist()


def weigh(answers: Sequence[Answers], plan: PublicPlan) -> dict[str, Any]:
    """Return the verdict of judges that did not vote, with its figures and a sentence."""
    compared = {
        "final": DATASET,
        "shots": SHOTS,
        **(FREE if find_method(plan.method.name).queries_data else {}),
    }
    by_judge = {
        each.judge.name: {called: each.right[name] for name, called in compared.items() if name in each.right}
        for each in answers
        if not each.judge.voted
    }
    redrawn = {
        compared[name]: drawn for each in answers for name, drawn in each.redrawn.items() if name in compared
    }
    learnt = {each.judge.name: each.learnt for each in answers if each.learnt is not None}
    return describe_worth(Worth.of(by_judge, len(plan.labels), redrawn, learnt), plan.modality.kind)


def describe_worth(found: Worth, kind: Kind) -> dict[str, Any]:
    """Return a dataset's worth as stored and shown to the owner alone; sentences have no full stop."""
    return {
        "word": found.word,
        "sentence": _say_worth(found, MODALITIES[kind].nouns.many),
        "advice": _advise(found, kind),
        "judges": list(found.judges),
        "share": found.share,
        "ahead": dict(found.ahead),
        "accuracies": dict(found.accuracies),
    }


def _say_worth(found: Worth, many: str) -> str:
    """State the figures behind the verdict, with the judges' names."""
    by = f"measured by {join([*found.judges])} on {found.items} held-out {many}"
    left_out = [_say_failure(name, many, why) for name, why in found.failed.items()]
    if SHOTS not in found.accuracies:
        way = f"a classifier trained on the dataset has an accuracy of {_spell(found.accuracies[DATASET], ' %')}"
    elif found.share is None:
        return "; ".join(
            [
                f"even a classifier trained on the private {many} is not accurate enough for a comparison "
                f"({by})",
                *left_out,
            ]
        )
    else:
        share = _spell(found.share, " %")
        way = f"the dataset's accuracy covers {share} of the distance from chance to the accuracy of the private {many}"
    free = [_spell_lead(each, name) for name, each in found.ahead.items()]
    lead = f"; the dataset is {join(free)}" if free else ""
    return "; ".join([f"{way}{lead} ({by}; 95 % intervals)", *left_out])


def _say_failure(name: str, many: str, why: Failure) -> str:
    if why == "untrained":
        return f"{name} could not learn the private {many}, so its figures are left out"
    return f"{name}, trained on the private {many}, is not clearly better than chance, so its figures are left out"


def _spell_lead(lead: Interval, name: str) -> str:
    """State by how many points the dataset's accuracy is above or below that of another set."""
    mean, low, high = (round(100 * each) for each in lead)
    far, way = spell_count(abs(mean), "point"), "above" if lead.mean >= 0 else "below"
    if low < 0 < high:
        return f"{far} {way} {name} ({-low} below to {high} above)"
    least, most = sorted((abs(low), abs(high)))
    return f"{far} ({least} to {most}) {way} {name}"


def _spell(figure: Interval, unit: str) -> str:
    mean, low, high = (round(100 * each) for each in figure)
    return f"{mean}{unit} ({low} to {high})"


def _advise(found: Worth, kind: Kind) -> str:
    many = MODALITIES[kind].nouns.many
    if found.items < LEAST_ITEMS:
        return f"the figures become meaningful with {LEAST_ITEMS} or more held-out {many}"
    if found.word == "unknown":
        return (
            f"give the private {many} with --private, and pcevolve evaluate also compares the dataset "
            f"with the private {many} and shows the nearest pairs"
        )
    if found.share is None and found.word == "doubtful":
        return f"more private {many}, or another judge (pcevolve evaluate --judge), may give a clearer result"
    if (name := found.matched) is not None:
        good = "are better" if found.ahead[name].high < 0 else "are at least as good"
        return f"{name} cost no privacy and {good}: spending epsilon added nothing"
    if found.word == "not useful":
        return MODALITIES[kind].other_provider
    if found.word == "useful":
        return ""
    if (name := found.unsure) is not None and found.share is not None and found.share.low >= WORTHY:
        return f"it is uncertain whether the dataset is better than {name}, which costs no privacy: test on more {many}"
    return f"it is uncertain whether the dataset covers half of the distance: test on more {many}"


def label_sets(outcome: Outcome, labels: Sequence[str], every: bool) -> list[LabelledSet]:
    """List a run's training sets: its text-to-image images as received, and its dataset.

    Args:
        every: Whether to include the populations of all rounds in between.
    """
    evolved, look = outcome.evolved, find_released_appearance(outcome.evolved.receipts)
    every_set = [*evolved.populations[:-1], evolved.dataset]
    first, *later = every_set if every else [evolved.populations[0], evolved.dataset]
    return [
        _label(outcome, labels, first, None if later else look),
        *(_label(outcome, labels, population, look) for population in later),
    ]


def _label(
    outcome: Outcome, labels: Sequence[str], population: Population, wanted: Appearance | None
) -> LabelledSet:
    bodies, decoded = Bodies(outcome.folder.bodies), find_medium(outcome.plan.modality.kind).decode
    rows = [
        (decoded(bodies.file(candidate.digest), wanted), target)
        for target, label in enumerate(labels)
        for candidate in population[label]
    ]
    return [item for item, _ in rows], [target for _, target in rows]


def keep_accuracy(
    outcome: Outcome, answers: Sequence[Answers], sets: Mapping[str, LabelledSet]
) -> dict[str, Any]:
    """Store the judges' figures, write the owner's page, and return the summary with the figures and the page's path.

    Args:
        sets: The judges' training sets, including the dataset as ``final`` and the private images as
            ``shots``.
    """
    held_out = outcome.components.test
    assert held_out is not None
    measured = weigh(answers, outcome.plan)
    found = {"accuracy": [each.as_json() for each in answers], "measured": measured}
    write_private(outcome.owner.evaluation, {**found, "test": Labelled.of(held_out).digest.hex()})
    first = answers[0]
    page = make_page(
        outcome.owner.use_page,
        outcome.folder.root.absolute().name,
        outcome.plan.modality.kind,
        measured,
        first.confuse(held_out.labels),
        first.judge,
        sets["final"],
        sets["shots"][0],
    )
    result = {**outcome.summary, **found, "use_page": str(page)}
    write_private(outcome.owner.result, result)
    return result
