"""How often the word about a dataset's use is right: ``python -m benchmarks.usefulness --cache DIR``.

It writes docs/results/usefulness.{md,json}. One selection of ``PICKED`` images per class, no rounds, ten shots per
class, replace-one, delta 1e-5; sets that may be tuned on. Each dataset gets the word of ``pcevolve.public.usefulness``
and is judged by linear heads on real images, on the encoders that did not vote. Its truth is the share of the way from
chance to the ten shots that it closes: at least half of it is *worth it*. Candidates come from

- ``bundled``: the bundled generator, by the prompts of the classes;
- ``real``: unlabelled real images of the set;
- ``few``, ``quarter``: the bundled generator's with a few, or a quarter, of real ones among them;
- ``other``: unlabelled real images of another set.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from benchmarks.judges import ONNX
from benchmarks.release.budget import SHOTS
from benchmarks.release.data import real_sets
from benchmarks.release.seen import (
    VOTER,
    Draw,
    Seen,
    arguments,
    brought,
    head_accuracy,
    repeated,
    seen_by_all,
)
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


def main() -> None:
    """Measure all sets and write the table."""
    given = arguments(__doc__, seeds=10)
    seen = {name: seen_by_all(real, given.cache) for name, real in real_sets().items()}
    verdicts = []
    for name in seen:
        cases = itertools.product((VOTER, *ONNX), SOURCES, EPSILONS, range(given.seeds))
        verdicts += [_verdict(Case(name, *each), seen) for each in cases]
        print(name, _rates(verdicts), flush=True)
    (given.out / "usefulness.json").write_text(
        "[\n" + ",\n".join(json.dumps(each.row) for each in verdicts) + "\n]\n"
    )
    (given.out / "usefulness.md").write_text(_page(verdicts, given.seeds))


def _verdict(case: Case, seen: dict[str, Seen]) -> Verdict:
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
    return Verdict(case, found, _closed(case, seen, rows, picked))


def _pools(case: Case, seen: dict[str, Seen], rows: Draw, eye: str) -> list[np.ndarray]:
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


def _closed(case: Case, seen: dict[str, Seen], rows: Draw, picked: Sequence[np.ndarray]) -> float:
    """Mean over the judges of the share of the way from chance to the shots."""
    here = seen[case.set]
    chance, found, shots = 1 / len(picked), [], []
    for judge in (each for each in ONNX if each != case.voter):
        real, truth = here.real[judge], here.targets
        pools = _pools(case, seen, rows, judge)
        made = [pool[chosen] for pool, chosen in zip(pools, picked, strict=True)]
        tested = real[rows.test], truth[rows.test]
        found.append(head_accuracy(np.concatenate(made), repeated(made), *tested))
        shots.append(head_accuracy(real[rows.shots], truth[rows.shots], *tested))
    return (float(np.mean(found)) - chance) / max(float(np.mean(shots)) - chance, 0.05)


def _rates(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """Of each word, how many datasets got it and how many of these are worth it."""
    by_word = {word: [each.closed for each in verdicts if each.assessment.word == word] for word in WORDS}
    return {word: (len(found), sum(each >= WORTH for each in found)) for word, found in by_word.items()}


def _page(verdicts: Sequence[Verdict], seeds: int) -> str:
    found = _rates(verdicts)
    lines = [HEADER.format(seeds=seeds, count=len(verdicts)), *_table("all", {"": verdicts})]
    for title, key in (
        ("candidates", "source"),
        ("encoder that voted", "voter"),
        ("ε", "epsilon"),
        ("set", "set"),
    ):
        groups: dict[str, list[Verdict]] = {}
        for each in verdicts:
            groups.setdefault(str(getattr(each.case, key)), []).append(each)
        lines += ["", *_table(title, groups)]
    worth = sum(count for _, count in found.values())
    missed = found["not useful"][1] / max(worth, 1)
    alarm = 1 - found["useful"][1] / max(found["useful"][0], 1)
    lines += ["", FOOTER.format(alarm=100 * alarm, missed=100 * missed, worth=worth)]
    return "\n".join(lines)


def _table(title: str, groups: dict[str, Sequence[Verdict]] | dict[str, list[Verdict]]) -> Iterator[str]:
    yield f"| {title} | called useful: of these worth it | doubtful | not useful |"
    yield "|---|---|---|---|"
    for name, verdicts in groups.items():
        cells = [
            f"{total}: {100 * worth / total:.0f} %" if total else "0"
            for total, worth in _rates(verdicts).values()
        ]
        yield f"| {name} | {' | '.join(cells)} |"


HEADER = """# How often the word about a dataset's use is right

Written by `python -m benchmarks.usefulness`: {count} datasets of 20 images per class, selected by ten real shots per
class at ε = 2, 5 and 10 (δ = 1e-5, replace-one, {seeds} seeds) out of candidates whose worth is known, on sets that
may be tuned on; no rounds, images as they come. The voter is the bundled encoder in the frame of public images and
candidates, or a MobileNet or a SqueezeNet in the candidates' frame; linear heads on the encoders that did not vote
judge on real images. A dataset is *worth it* if it closes at least half of the way from chance to the ten shots.

The word follows from three numbers (`pcevolve.public.usefulness`): by how many standard deviations of the noise the
released class means differ, how far the dataset's images lie from what was released about their class, in clip radii,
and whether its classes differ as the released ones do, as a cosine. Its bounds were chosen on these very datasets, so
the rates are those of data that were looked at.
"""
FOOTER = """False alarms and misses: of the datasets called useful {alarm:.0f} % are not worth it; of the {worth} that
are worth it {missed:.0f} % are called not useful. Misses are of three kinds: candidates of which a quarter is real, of
whom enough are chosen to be worth it while the rest pulls the distance up; real images at ε = 2, where noise moves what
was released away from its own images; and machine parts, whose two classes the noise hides at any ε here, so that luck
decides on both. False alarms are mostly images of the bundled model for digits: near, alike and well told apart by the
encoder that voted, and too blurred for heads on the two judges.
"""

if __name__ == "__main__":
    main()
