"""How often the word about a dataset's use is right: ``python -m benchmarks.usefulness --cache DIR``.

It writes docs/results/usefulness-images.json and prints the tables that docs/results/verdict.md has; what is cut off
goes on where it was. One selection of ``PICKED`` images
per class, no rounds, ten shots per class, replace-one, delta 1e-5; all private sets of ``benchmarks.split``, or those
of ``--sets``. Each dataset gets the word of ``pcevolve.public.publish.usefulness`` and is judged by linear heads on
real images, on the encoders that did not vote. Its truth is the share of the way from chance to the ten shots that it
closes: at least half of it is *worth it*. The bounds were chosen on sets that may be tuned on; the rest validates them.
``benchmarks.usefulness.texts`` asks the same of texts.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.judges import ONNX
from benchmarks.release.data import SIDE, embed_once, embedders, list_development_sets, weights
from benchmarks.release.seen import VOTER, Seen, arguments, embed_by_all
from benchmarks.rows import Row, resume_in_steps
from benchmarks.split import LOOKED_AT_ONCE, SETS, TUNED_ON, by_role
from benchmarks.usefulness.cases import EPSILONS, NOISE, SOURCES, Case, Study, Verdict, group, verdict

PARTS = {"candidates": "source", "encoder that voted": "voter", "ε": "epsilon", "set": "set"}


def main() -> None:
    """Measure all sets and write the table."""
    given = arguments(__doc__, seeds=10)
    others = {name: other_domain(name) for name in given.sets}
    looks, wanted = embedders(), {*given.sets, *others.values()}
    seen = {
        name: embed_by_all(real, given.cache, looks) for name, real in list_development_sets(wanted).items()
    }
    blurs = list(paint_noise(300))
    seen[NOISE] = Seen(
        {name: embed_once(name, blurs, look, given.cache) for name, look in looks.items()}, {}, np.zeros(0)
    )
    study = Study(seen, tuple(ONNX), others)
    cases = itertools.product(given.sets, range(given.seeds), (VOTER, *ONNX), SOURCES)
    steps = {
        f"{name}, {voter}, {source}, seed {seed}": partial(rows, study, name, voter, source, seed)
        for name, seed, voter, source in cases
    }
    write(given.out, resume_in_steps(given.cache / f"usefulness-{weights()}.jsonl", steps))


def paint_noise(count: int) -> Iterator[Image.Image]:
    """Yield noise of three channels with a spectrum between white and that of photographs, 64 pixels across."""
    random = np.random.default_rng(11)
    cycles = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.fftfreq(SIDE)) * SIDE
    for _ in range(count):
        falls = np.maximum(cycles, 1.0) ** -random.uniform(0, 1.5)
        waves = np.fft.fft2(random.normal(size=(3, SIDE, SIDE))) * falls
        painted = np.fft.ifft2(waves).real
        scaled = 128 + 50 * painted / painted.std()
        yield Image.fromarray(scaled.clip(0, 255).astype(np.uint8).transpose(1, 2, 0))


def rows(study: Study, name: str, voter: str, source: str, seed: int) -> list[Row]:
    """A row for each epsilon."""
    return [verdict(Case(name, voter, source, epsilon, seed), study).row for epsilon in EPSILONS]


def other_domain(name: str) -> str:
    """The next set that shows something else: whose domain begins with another word."""
    names = by_role()
    place = names.index(name)
    return next(each for each in [*names[place:], *names[:place]] if _kind(each) != _kind(name))


def _kind(name: str) -> str:
    return SETS[name].domain.split()[0]


def write(out: Path, found: Sequence[Row]) -> None:
    """The rows, and on the screen how often each word is right of the sets of either role."""
    (out / "usefulness-images.json").write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n")
    verdicts = [Verdict.of_row(row) for row in found]
    for role in (LOOKED_AT_ONCE, TUNED_ON):
        half = [each for each in verdicts if SETS[each.case.set].role == role]
        if half:
            print("\n".join([f"\n{role}\n", *group(half, PARTS)]))


if __name__ == "__main__":
    main()
