"""Judges of a finished run: who they are, what they say, and where it is kept.

Its figures go to ``private/`` and to the owner's screen, never into what may be shared: that is a function of the
transcript, and measured accuracy is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcevolve.durable import write_private
from pcevolve.encoders import Encoder, load_encoder, named_weights
from pcevolve.encoders.published import resolve
from pcevolve.evaluation.heads import train_linear
from pcevolve.evaluation.judge import Accuracy, AccuracyTest, Judge, LabelledSet
from pcevolve.evaluation.labelled import Labelled
from pcevolve.evolution import Population
from pcevolve.modality import find_medium
from pcevolve.modality.images.appearance import Appearance, find_released_appearance
from pcevolve.private import ProgressCallback, no_progress
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.modality import Kind
from pcevolve.session.execution import Outcome, save_result
from pcevolve.session.folder import RunFolder
from pcevolve.session.kind import load_kind
from pcevolve.transcript import Bodies


def load_judges(
    names: Iterable[str], voter: str | None, device: str, kind: Kind = "image", weights: str | None = None
) -> list[Judge]:
    """Load judges; those that did not vote come first.

    Args:
        names: The kind's stranger, which is ``cnn`` of images and ``ngrams`` of texts, or encoders as ``NAME`` or
            ``NAME=WEIGHTS``; none: the stranger and all encoders that are at hand.
        voter: The encoder by which the run selected; None if it looked at nothing.
        weights: SHA-256 of the voter's weights, hex; None for published ones.

    Raises:
        UsageError: There is no such encoder, or it is for another kind.
        ModelError: Weights are not at hand.
    """
    asked = list(names) or load_kind(kind).list_judges()
    found = [_judge(name, voter, weights, device, kind) for name in asked]
    return sorted({each.name: each for each in found}.values(), key=lambda each: each.voted)


def load_quick_judges(encoder: Encoder, voted: bool, device: str, kind: Kind = "image") -> list[Judge]:
    """List the judges of a run that has just ended: those that did not vote first, the run's own encoder last.

    The network from scratch takes a quarter of its steps, so that a run's end is not the longest part of it.

    Raises:
        ModelError: Weights of another encoder that was fetched cannot be read.
    """
    own = load_kind(kind)
    strangers = [name for name in own.list_encoders() if not _same(name, encoder.name)][:1]
    heads = [Judge(name, False, load_encoder(name, None, device).embed, train_linear) for name in strangers]
    return [own.make_stranger(quick=True), *heads, Judge(encoder.name, voted, encoder.embed, train_linear)]


def _judge(name: str, voter: str | None, voting: str | None, device: str, kind: Kind) -> Judge:
    own = load_kind(kind)
    if name == own.STRANGER:
        return own.make_stranger()
    named, _, weights = name.partition("=")
    encoder = load_encoder(resolve(named, kind)[0], weights or None, device)
    digest = named_weights(encoder.name, weights or None)
    # Two files of weights make two encoders of one name; published weights may lie in a file, too.
    voted = (
        voter is not None and _same(encoder.name, voter) and (digest == voting or None in (digest, voting))
    )
    # Figures are kept under this name, and ``auto`` is another encoder once another one was fetched.
    known = name if named == encoder.name else encoder.name
    return Judge(known, voted, encoder.embed, train_linear)


def _same(first: str, second: str) -> bool:
    """True if two names are of one encoder, with or without its views, and however much of a CLIP's is written out."""
    if first.partition(":")[0] == second.partition(":")[0] == "clip":
        from pcevolve.encoders.loading import parse_clip_name

        return parse_clip_name(first) == parse_clip_name(second)
    return first.partition("+")[0] == second.partition("+")[0]


def digest_subject(test: bytes, runs: Iterable[Path]) -> str:
    """SHA-256 of what is judged: figures with another one are about something else and do not belong together."""
    manifests = (bytes.fromhex(RunFolder(root).digest_manifest()) for root in runs)
    return hashlib.sha256(test + b"".join(manifests)).hexdigest()


def keep_judgement(root: Path, found: Mapping[str, Any]) -> None:
    """Write what was found, and behind it the rows of judges that were asked earlier about the same subject."""
    path = RunFolder(root).judgement
    before = json.loads(path.read_bytes()) if path.is_file() else {}
    asked = {row["judge"] for row in found["judges"]}
    rows = before.get("judges", []) if before.get("subject") == found["subject"] else []
    kept = [row for row in rows if row["judge"] not in asked]
    write_private(path, {**found, "judges": [*found["judges"], *kept]})


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores that one judge gives the populations of a run, the initial one first."""

    judge: str
    voted: bool
    by_iteration: Sequence[Accuracy]

    def as_json(self) -> dict[str, Any]:
        """The judge, and what it says of the initial (text-to-image only) and the final dataset."""
        initial, final = self.by_iteration[0].to_json(), self.by_iteration[-1].to_json()
        return {"judge": self.judge, "voted": self.voted, "initial": initial, "final": final}


def prepare_tests(outcome: Outcome, held_out: PrivateDataset) -> Iterator[AccuracyTest]:
    """Held-out data as each judge of a run sees them, one after the other: those that did not vote come first."""
    parts, plan = outcome.components, outcome.plan
    voted = parts.method.queries_data
    for judge in load_quick_judges(parts.encoder, voted, parts.settings.encoder.device, plan.modality.kind):
        yield AccuracyTest.on(held_out, judge)


def score(outcome: Outcome, told: ProgressCallback = no_progress) -> dict[str, Any]:
    """The run's summary, with each judge's accuracies where there are test data."""
    held_out = outcome.components.test
    if held_out is None:
        return outcome.summary
    told(0, 1)
    tests, found = [*prepare_tests(outcome, held_out)], []
    sets = label_sets(outcome, held_out.labels, every=False)
    for place, test in enumerate(tests):
        told(place, len(tests))
        found.append(Scores(test.judge.name, test.judge.voted, test.of(sets)).as_json())
    return keep_accuracy(outcome, found)


def label_sets(outcome: Outcome, labels: Sequence[str], every: bool) -> list[LabelledSet]:
    """List what a run made, to train on: its text-to-image images as they came, and its dataset."""
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


def keep_accuracy(outcome: Outcome, accuracy: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Keep each judge's accuracies where they belong and return the summary with them."""
    test = outcome.components.test
    digest = "" if test is None else Labelled.of(test).digest.hex()
    write_private(outcome.folder.evaluation, {"accuracy": accuracy, "test": digest})
    result = {**outcome.summary, "accuracy": accuracy}
    save_result(outcome.folder, result)
    return result
