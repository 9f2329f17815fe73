"""Datasets of one selection whose worth is known, and the word that a run would say of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from benchmarks.release.budget import SHOTS
from benchmarks.release.seen import Draw, Seen, brought, head_accuracy, repeated
from pcevolve.dp.calibration import smallest_noise_multiplier
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.methods.centre_first import with_centre
from pcevolve.privacy import Budget, Event, Events
from pcevolve.public.usefulness import Assessment, Word
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.frame import projected
from pcevolve.selectors.means import Means
from pcevolve.selectors.usefulness import agreement, distance, separation

PICKED, WORTH = 20, 0.5
EPSILONS = (2, 5, 10)
SOURCES = ("bundled", "real", "few", "quarter", "other")
"""Where candidates came from: the bundled model, by the words of the classes; unlabelled real data of the set; the
model's with a few, or a quarter, of real ones among them; unlabelled real data of another set."""
WORDS: tuple[Word, ...] = ("useful", "doubtful", "not useful")


@dataclass(frozen=True)
class Case:
    """One dataset: whose embeddings voted, where candidates came from, and what was paid."""

    set: str
    voter: str
    source: str
    epsilon: int
    seed: int


@dataclass(frozen=True)
class Verdict:
    """What was said of a dataset, and what it is worth: the share closed of the way from chance to the shots."""

    case: Case
    assessment: Assessment
    closed: float

    @property
    def row(self) -> dict[str, object]:
        """For JSON."""
        found = self.assessment
        return {
            **asdict(self.case),
            **found.model_dump(),
            "word": found.word,
            "closed": round(self.closed, 4),
        }


def verdict(case: Case, seen: Mapping[str, Seen], judges: Sequence[str]) -> Verdict:
    """Select a dataset, say its word, and have it judged by heads on encoders that did not vote."""
    here, rows = seen[case.set], Draw.of(seen[case.set].targets, case.seed)
    pools = _pools(case, seen, rows, case.voter)
    scene = _scene(case, pools)
    private = PrivateEmbeddings(
        here.real[case.voter][rows.shots], here.targets[rows.shots], np.arange(len(rows.shots))
    )
    measured = Means().measure(private, scene, _events(case.epsilon), SeededNoise(case.seed))
    picked = Means().pick(measured, scene)
    points = [
        projected(pool[chosen], measured["centre"], measured["axes"])
        for pool, chosen in zip(pools, picked, strict=True)
    ]
    found = Assessment(
        separation=separation(measured, scene, _events(case.epsilon)),
        distance=distance(measured, scene, points),
        agreement=agreement(measured, points),
    )
    return Verdict(case, found, _closed(case, seen, rows, picked, judges))


def _pools(case: Case, seen: Mapping[str, Seen], rows: Draw, eye: str) -> list[np.ndarray]:
    """Candidates of each class as an encoder sees them."""
    here = seen[case.set]
    real, drawn, unlabelled = here.real[eye], here.drawn[eye], rows.unlabelled
    random = np.random.default_rng(case.seed + 1000)
    few = random.permutation(unlabelled)[: max(6, len(unlabelled) // 20)]
    kept, some = random.permutation(len(drawn[0]))[:45], random.permutation(unlabelled)[:15]
    names = list(seen)
    strangers = seen[names[(names.index(case.set) + 1) % len(names)]].real[eye][:300]
    if case.source == "bundled":
        return list(drawn)
    if case.source == "few":
        return [np.concatenate([each, real[few]]) for each in drawn]
    if case.source == "quarter":
        return [np.concatenate([each[kept], real[some]]) for each in drawn]
    return [strangers if case.source == "other" else real[unlabelled]] * len(drawn)


def _scene(case: Case, pools: Sequence[np.ndarray]) -> Scene:
    names = tuple(str(each) for each in range(len(pools)))
    return Scene(
        names, tuple(pools), PICKED, SHOTS, 1, 0, case.seed, "replace-one", public=brought(case.voter)
    )


@cache
def _events(epsilon: int) -> Events:
    noise = smallest_noise_multiplier(Budget(Fraction(epsilon), 1e-5), 1)
    return with_centre(((Event("gaussian", str(noise)),),))[0]


def _closed(
    case: Case, seen: Mapping[str, Seen], rows: Draw, picked: Sequence[np.ndarray], judges: Sequence[str]
) -> float:
    """Mean over the judges of the share of the way from chance to the shots."""
    here = seen[case.set]
    chance, found, shots = 1 / len(picked), [], []
    for judge in (each for each in judges if each != case.voter):
        real, truth = here.real[judge], here.targets
        pools = _pools(case, seen, rows, judge)
        made = [pool[chosen] for pool, chosen in zip(pools, picked, strict=True)]
        tested = real[rows.test], truth[rows.test]
        found.append(head_accuracy(np.concatenate(made), repeated(made), *tested))
        shots.append(head_accuracy(real[rows.shots], truth[rows.shots], *tested))
    return (float(np.mean(found)) - chance) / max(float(np.mean(shots)) - chance, 0.05)


def rates(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """Of each word, how many datasets got it and how many of these are worth it."""
    by_word = {word: [each.closed for each in verdicts if each.assessment.word == word] for word in WORDS}
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


def grouped(verdicts: Sequence[Verdict], titles: Mapping[str, str]) -> Iterator[str]:
    """A table of all verdicts, and one for each of some attributes of their cases."""
    yield from table("all", {"": verdicts})
    for title, key in titles.items():
        groups: dict[str, list[Verdict]] = {}
        for each in verdicts:
            groups.setdefault(str(getattr(each.case, key)), []).append(each)
        yield ""
        yield from table(title, groups)
