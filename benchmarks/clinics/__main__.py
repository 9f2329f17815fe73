"""Several owners' data in one release: what masks are worth, over the number of owners and epsilon.

    .venv/bin/python -m benchmarks.clinics --work runs/clinics

Ten images of each class and owner, under names that say nothing. *Summed*: each owner rounds its sum, adds its share of
the noise and a mask, and signs, by the functions of the product's own owners; what all send is added up. *Pooled*: one
owner who has all images. *Each its own noise*: every owner adds the noise that protects it from everybody, and the
noisy sums are averaged. Candidates are the same for all of a seed, and one release selects 20 of 80. Judges did not
vote. The bundled cells are fifty of a kind, of which ten are held out: there eight owners have five each.

It continues where it was cut off, and writes docs/results/clinics.{json,md,svg}. The library's domain needs the data
that ``PCEVOLVE_BENCH_DATA`` names.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.clinics.cost import measure_cost
from benchmarks.clinics.page import (
    ALONE,
    EPSILONS,
    FREE,
    OWNERS,
    POOLED,
    PRIVATE,
    RANDOM,
    SUMMED,
    WORDS,
    write,
)
from benchmarks.clinics.release import OneOwner, SeveralOwners, name_owners, widen
from benchmarks.clinics.worlds import CANDIDATES, CELLS, XRAY, XRAYS, Seed, begin
from benchmarks.judges import CNN, judge
from benchmarks.library.judges import heads
from benchmarks.private_sets import available
from benchmarks.rows import Row, parser_of, resume
from benchmarks.selectors.trial import Watch
from pcevolve.keeper.clinics.owner import SummedViews
from pcevolve.keeper.evaluation.heads import CNN_SIDE, QUICK_STEPS, Training, train_cnn
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.loop.evolution import evolve
from pcevolve.public.media.images.decoding import decode_picture

WORLDS = (CELLS, XRAY)
Wanted = tuple[int, str, int, str, str]
"""Seed, world, number of owners, epsilon and way."""
Labelled = tuple[list[Image.Image | None], np.ndarray]


def list_trials(number: int, world: str) -> Iterator[Wanted]:
    """All of a seed; one owner is one in every way."""
    yield number, world, 1, FREE, WORDS
    yield number, world, 1, FREE, RANDOM
    for owners in OWNERS:
        if not (world == CELLS and owners == 8):  # the same images as those of four
            yield number, world, owners, FREE, PRIVATE
    for epsilon, owners, way in itertools.product(EPSILONS, OWNERS, (SUMMED, ALONE, POOLED)):
        if owners > 1 or way == POOLED:
            yield number, world, owners, epsilon, way


def measure(wanted: Wanted, work: Path) -> Row:
    """One training set, and the accuracy of each judge that learns from it."""
    number, world, owners, epsilon, way = wanted
    seed = begin(world, number, work)
    if way == PRIVATE:
        own = seed.join(owners)
        images, targets = list(own.items), own.targets
    elif epsilon == FREE:
        images, targets = choose_without_looking(seed, way)
    else:
        images, targets = select(seed, owners, epsilon, way)
    about = {"world": world, "seed": number, "owners": owners, "epsilon": epsilon, "way": way}
    return {**about, "verdicts": ask_judges(seed, images, targets, work)}


def select(seed: Seed, owners: int, epsilon: str, way: str) -> Labelled:
    """The dataset of one release."""
    together = seed.join(owners)
    shots = len(together) // len(together.labels)
    if way == SUMMED:
        parts = seed.split(owners)
        clinics, keys = name_owners(parts)
        plan = seed.change_plan(epsilon, shots, clinics)
        views = [SummedViews(PrivateViews(part, seed.eyes)) for part in parts]
        return _evolve(seed, SeveralOwners(Summing(plan, seed.chooser(plan)), views, keys))
    plan = seed.change_plan(epsilon, shots)
    events = seed.method.plan_events(plan)
    if way == ALONE:
        events = {at: tuple(widen(event, owners) for event in release) for at, release in events.items()}
    drawn = hashlib.sha256(f"{seed.number}/{owners}/{epsilon}/{way}".encode()).digest()
    noise = SeededNoise(int.from_bytes(drawn[:4], "big"))
    return _evolve(seed, OneOwner(seed.chooser(plan), PrivateViews(together, seed.eyes), events, noise))


def _evolve(seed: Seed, owners: OneOwner | SeveralOwners) -> Labelled:
    plan = owners.summing.plan if isinstance(owners, SeveralOwners) else owners.chooser.plan
    evolved = evolve(plan, seed.generator, owners, Watch(), identify=str)
    made = [
        (each.digest, place) for place, label in enumerate(plan.labels) for each in evolved.dataset[label]
    ]
    images = [decode_picture(seed.generator.received(digest)) for digest, _ in made]
    return images, np.array([place for _, place in made])


def choose_without_looking(seed: Seed, way: str) -> Labelled:
    """As many candidates as a dataset has: the first ones, or any."""
    plan, random = seed.plan, np.random.default_rng(seed.number)
    made = seed.generator.answers([(call, None) for call in plan.round(0)])
    names: dict[str, list[str]] = {label: [] for label in plan.labels}
    for answer in made:
        for each in answer:
            names[each.label].append(each.digest)
    chosen = [
        found[:CANDIDATES] if way == WORDS else list(random.permutation(found)[:CANDIDATES])
        for found in names.values()
    ]
    images = [decode_picture(seed.generator.received(name)) for of_class in chosen for name in of_class]
    return images, np.repeat(np.arange(len(chosen)), CANDIDATES)


def ask_judges(seed: Seed, images: Sequence, targets: np.ndarray, work: Path) -> list[Row]:
    """Accuracies on held-out images of who did not vote."""
    truth, found = seed.tested.targets, dict[str, float]()
    for name, look in heads(work).items():
        found[name] = judge(name, look(images), targets, look(seed.tested.items), truth, seed.number)
    training = Training(pixel_array(images, CNN_SIDE), np.array(targets), len(seed.private.labels))
    said = train_cnn(training, seed.number, QUICK_STEPS)(pixel_array(seed.tested.items, CNN_SIDE))
    found[CNN] = float((said == truth).mean())
    return [{"judge": name, "voted": False, "accuracy": round(each, 4)} for name, each in found.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("runs/clinics"), help="library, index and features")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    given.work.mkdir(parents=True, exist_ok=True)
    worlds = [each for each in given.worlds if each != XRAY or available(XRAYS)]

    def list_missing(rows: Sequence[Row]) -> Iterator[Wanted]:
        known = {(row["seed"], row["world"], row["owners"], row["epsilon"], row["way"]) for row in rows}
        for world, number in itertools.product(worlds, range(given.seeds)):
            yield from (each for each in list_trials(number, world) if each not in known)

    rows = resume(given.out / "clinics.json", list_missing, partial(measure, work=given.work))
    write(given.out, rows, measure_cost(given.work))


if __name__ == "__main__":
    main()
