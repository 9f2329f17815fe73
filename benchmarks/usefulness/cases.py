"""Datasets of one selection whose worth is known, and the word that a run would say of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cache, lru_cache
from typing import Self

import numpy as np

from benchmarks.release.data import SHOTS
from benchmarks.release.seen import Draw, Seen, load_frame, measure_head, repeat_classes
from benchmarks.rows import Row
from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.frame import Frame, project
from pcevolve.public.privacy import Budget, Event, Events
from pcevolve.public.publish.usefulness import Assessment, Word
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.rounds import pay_for_centre
from pcevolve.public.selectors.usefulness import Figures, agree_by_words, agreement, classes_apart, distances

PICKED, WORTH = 20, 0.5
LEAST_GAP = 0.05
"""Accuracy between chance and the shots that a share is taken of, at least."""
EPSILONS = (2, 5, 10)
BY_WORDS = ("bundled", "few", "quarter")
"""Sources that are asked by the words of a class."""
WORDS_VOTER = "words"
"""The encoder of texts."""
WORDS: tuple[Word, ...] = ("useful", "doubtful", "not useful")


@dataclass(frozen=True)
class Case:
    """One dataset: whose embeddings voted, where candidates came from, and what was paid.

    Attributes:
        source: ``bundled``, the model by the words of the classes; ``few`` or ``quarter``, the same with a few, or a
            quarter, of real ones among them; ``real``, unlabelled real data of the set; ``other``, of another set.
    """

    set: str
    voter: str
    source: str
    epsilon: int
    seed: int


@dataclass(frozen=True)
class Verdict:
    """The word that was said of a dataset, and its worth: the share closed of the way from chance to the shots."""

    case: Case
    assessment: Assessment
    closed: float

    @property
    def row(self) -> Row:
        """For JSON; ``of_row`` reads it."""
        found = self.assessment
        return {
            **asdict(self.case),
            **found.model_dump(),
            "word": self.word,
            "closed": round(self.closed, 4),
        }

    @property
    def word(self) -> Word:
        """The word that a run would say."""
        return self.assessment.word("text" if self.case.voter == WORDS_VOTER else "image")

    @classmethod
    def of_row(cls, row: Row) -> Self:
        """From a row of JSON."""
        case = Case(**{each.name: row[each.name] for each in fields(Case)})
        told = {name: row[name] for name in Assessment.model_fields if name in row}
        return cls(case, Assessment(**told), row["closed"])


@dataclass(frozen=True, eq=False)
class Study:
    """Data that datasets are made of and judged with.

    Attributes:
        seen: By name, all sets.
        judges: Names of encoders; where one of them votes, the others judge.
        others: For each set, the set whose real images stand for another domain.
    """

    seen: Mapping[str, Seen]
    judges: tuple[str, ...]
    others: Mapping[str, str]


def verdict(case: Case, study: Study) -> Verdict:
    """Select a dataset, say its word, and have it judged by heads on encoders that did not vote."""
    here, rows = study.seen[case.set], _draw(study, case.set, case.seed)
    scene = _scene(study, case.set, case.voter, case.source, case.seed)
    private = PrivateEmbeddings(
        here.real[case.voter][rows.shots], here.targets[rows.shots], np.arange(len(rows.shots))
    )
    events = spend(case.epsilon)
    measured = Means().measure(private, scene, events, SeededNoise(case.seed))
    picked = Means().pick(measured, scene)
    points = [
        project(pool[chosen], measured["centre"], measured["axes"])
        for pool, chosen in zip(scene.pools, picked, strict=True)
    ]
    far = distances(measured, scene, events, points)
    assert far is not None  # every class has candidates
    words = [project(each, measured["centre"], measured["axes"]) for each in here.drawn[case.voter]]
    said = agree_by_words(measured, words, scene.ruler(measured)) if case.source in BY_WORDS else (None, 0.0)
    found = Figures(classes_apart(measured, scene, events), *far, agreement(measured, points), *said).round()
    return Verdict(case, Assessment.of(found), _share_closed(case, study, picked))


@lru_cache(maxsize=64)
def _draw(study: Study, name: str, seed: int) -> Draw:
    return Draw.of(study.seen[name].targets, seed)


def _pools(study: Study, name: str, eye: str, source: str, seed: int) -> list[np.ndarray]:
    """Candidates of each class as an encoder sees them."""
    here, unlabelled = study.seen[name], _draw(study, name, seed).unlabelled
    real, drawn = here.real[eye], here.drawn[eye]
    random = np.random.default_rng(seed + 1000)
    few = random.permutation(unlabelled)[: max(6, len(unlabelled) // 20)]
    kept, some = random.permutation(len(drawn[0]))[:45], random.permutation(unlabelled)[:15]
    if source == "bundled":
        return list(drawn)
    if source == "few":
        return [np.concatenate([each, real[few]]) for each in drawn]
    if source == "quarter":
        return [np.concatenate([each[kept], real[some]]) for each in drawn]
    strangers = study.seen[study.others[name]].real[eye]
    same = random.permutation(strangers)[:300] if source == "other" else real[unlabelled]
    return [same] * len(drawn)


@lru_cache(maxsize=1)
def _scene(study: Study, name: str, voter: str, source: str, seed: int) -> SelectionInput:
    """Return candidates; kept, because they are the same at every epsilon and their frame takes longest."""
    pools = _pools(study, name, voter, source, seed)
    labels = tuple(str(each) for each in range(len(pools)))
    return SelectionInput(
        labels, tuple(pools), PICKED, SHOTS, 1, 0, seed, "replace-one", frame=_frame(voter, pools)
    )


def _frame(voter: str, pools: Sequence[np.ndarray]) -> Frame:
    """That of a run with these candidates; those that all classes share count once, which changes nothing."""
    candidates = np.concatenate(list({id(pool): pool for pool in pools}.values()))
    known = load_frame(voter)
    return Frame.of(candidates) if known is None else Frame.join(known, candidates)


@cache
def spend(epsilon: int) -> Events:
    """The events of a centre and of deviations that cost so much together."""
    noise = smallest_noise_multiplier(Budget(Fraction(epsilon), 1e-5), 1)
    return pay_for_centre(((Event("gaussian", str(noise)),),))[0]


def _share_closed(case: Case, study: Study, picked: Sequence[np.ndarray]) -> float:
    """Mean over the judges of the share of the way from chance to the shots."""
    judges = [each for each in study.judges if each != case.voter]
    found = float(np.mean([_accuracy(case, study, picked, judge) for judge in judges]))
    shots = float(np.mean([_shots(study, case.set, case.seed, judge) for judge in judges]))
    return share_of_way(found, shots, len(picked))


def share_of_way(found: float, shots: float, classes: int) -> float:
    """Share of the way from chance to the shots' accuracy that another one is."""
    return (found - 1 / classes) / max(shots - 1 / classes, LEAST_GAP)


def _accuracy(case: Case, study: Study, picked: Sequence[np.ndarray], judge: str) -> float:
    """Of a head on what was picked."""
    here, test = study.seen[case.set], _draw(study, case.set, case.seed).test
    pools = _pools(study, case.set, judge, case.source, case.seed)
    made = [pool[chosen] for pool, chosen in zip(pools, picked, strict=True)]
    return measure_head(
        np.concatenate(made), repeat_classes(made), here.real[judge][test], here.targets[test]
    )


@cache
def _shots(study: Study, name: str, seed: int, judge: str) -> float:
    """Of a head on the shots themselves."""
    here, rows = study.seen[name], _draw(study, name, seed)
    real, truth = here.real[judge], here.targets
    return measure_head(real[rows.shots], truth[rows.shots], real[rows.test], truth[rows.test])


def rates(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """Of each word, how many datasets got it and how many of these are worth it."""
    by_word = {word: [each.closed for each in verdicts if each.word == word] for word in WORDS}
    return {word: (len(found), sum(each >= WORTH for each in found)) for word, found in by_word.items()}


def table(title: str, groups: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    """Lines of a Markdown table: of each word how many datasets got it, and the share of these that are worth it."""
    yield f"| {title} | called useful: of these worth it | doubtful | not useful |"
    yield "|---|---|---|---|"
    for name, verdicts in groups.items():
        cells = [
            f"{total}: {100 * worth / total:.0f} %" if total else "0"
            for total, worth in rates(verdicts).values()
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def group(verdicts: Sequence[Verdict], titles: Mapping[str, str]) -> Iterator[str]:
    """A table of all verdicts, and one for each of some attributes of their cases."""
    yield from table("all", {"": verdicts})
    for title, key in titles.items():
        groups: dict[str, list[Verdict]] = {}
        for each in verdicts:
            groups.setdefault(str(getattr(each.case, key)), []).append(each)
        yield ""
        yield from table(title, groups)
