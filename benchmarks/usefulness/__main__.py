"""How often the word about a dataset's use is right: ``python -m benchmarks.usefulness --cache DIR``.

It writes docs/results/usefulness.{md,json}. One selection of ``PICKED`` images per class, no rounds, ten shots per
class, replace-one, delta 1e-5; sets that may be tuned on. Each dataset gets the word of ``pcevolve.public.usefulness``
and is judged by linear heads on real images, on the encoders that did not vote. Its truth is the share of the way from
chance to the ten shots that it closes: at least half of it is *worth it*. ``benchmarks.usefulness.texts`` asks the same
of texts, which the bounds were not chosen on.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from benchmarks.judges import ONNX
from benchmarks.release.data import real_sets
from benchmarks.release.seen import VOTER, arguments, seen_by_all
from benchmarks.usefulness.cases import EPSILONS, SOURCES, Case, Verdict, grouped, rates, verdict


def main() -> None:
    """Measure all sets and write the table."""
    given = arguments(__doc__, seeds=10)
    seen = {name: seen_by_all(real, given.cache) for name, real in real_sets().items()}
    verdicts = []
    for name in seen:
        cases = itertools.product((VOTER, *ONNX), SOURCES, EPSILONS, range(given.seeds))
        verdicts += [verdict(Case(name, *each), seen, tuple(ONNX)) for each in cases]
        print(name, rates(verdicts), flush=True)
    (given.out / "usefulness.json").write_text(
        "[\n" + ",\n".join(json.dumps(each.row) for each in verdicts) + "\n]\n"
    )
    (given.out / "usefulness.md").write_text(_page(verdicts, given.seeds))


def _page(verdicts: Sequence[Verdict], seeds: int) -> str:
    found = rates(verdicts)
    titles = {"candidates": "source", "encoder that voted": "voter", "ε": "epsilon", "set": "set"}
    lines = [HEADER.format(seeds=seeds, count=len(verdicts)), *grouped(verdicts, titles)]
    worth = sum(count for _, count in found.values())
    missed = found["not useful"][1] / max(worth, 1)
    alarm = 1 - found["useful"][1] / max(found["useful"][0], 1)
    lines += ["", FOOTER.format(alarm=100 * alarm, missed=100 * missed, worth=worth)]
    return "\n".join(lines)


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
