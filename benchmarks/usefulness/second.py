"""How often is the estimate right of images, and does a second look that did not choose know better?

``python -m benchmarks.usefulness.second --cache DIR``.
``--encoder joined`` releases class means of two encoders at once. Each half picks what it alone would have picked, and
the other half checks it: the cosine between how the picks' class means differ and how its own released means do, with
the shrinking taken back. Public arithmetic on one release, at no cost.

Each dataset is a run of the client's own loop, judge, ledger and selector, of ``dp-means`` as it is by default (80
candidates of each class, 20 chosen, no rounds; epsilon 10, delta 1e-5, replace-one), but that images stay as they come.
HTTP alone is left out, and noise is seeded. Providers: unlabelled real images of the set; those with three times as
many of another set among them; the bundled model, by the classes' own names; another set's images; for each class those
of a class of another set; coloured noise. And four that had no say in the bound of *not useful*: as many images of the
set as of another one, or 4 of 80; photographs of textures; of birds, clothes, flowers, fruit and vegetables. Truth: the
share of the way from chance to the shots, by a head on a SqueezeNet and by the network from scratch of ``run --test``,
neither of which voted; half of it is worth it.

Bounds are chosen without the set that they are tried on. It writes docs/results/second.json and prints tables; what is
cut off goes on where it was.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.judges import CNN, Pictures, judge, load_onnx
from benchmarks.library.judges import Remembering, RememberingEncoder
from benchmarks.private_sets import available
from benchmarks.release.seen import CANDIDATES, arguments, repeat_classes
from benchmarks.rows import Row, resume_in_steps
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.trial import Watch, make_plan, ran
from benchmarks.usefulness.cases import PICKED, share_of_way
from benchmarks.usefulness.second_rules import HEAD, SHOTS, VOTERS, pages
from benchmarks.usefulness.second_sources import SOURCES, Draw, FromPools, fill_pools
from pcevolve.keeper.evaluation.heads import CNN_SIDE, QUICK_STEPS, Training, train_cnn
from pcevolve.public.dp.mechanisms import FloatArray, SeededNoise
from pcevolve.public.encoders import JOINED, load_encoder
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.frame import MOST_AXES, project
from pcevolve.public.modality import Images
from pcevolve.public.publish.usefulness import BOUNDS
from pcevolve.public.selectors.means import aims_of, means_of, rank
from pcevolve.public.selectors.selection import Measurement, SelectionInput
from pcevolve.public.selectors.sums import CentreFirst

DEFAULT = (
    "malaria:parasitized,uninfected",
    "waste:cardboard,glass bottle,metal can,paper,plastic container",
    "leaf:apple scab,black rot,cedar apple rust,healthy",
    "steel:inclusion,pitted_surface,rolled-in_scale",
    "mnist:3,5,8",
    "digits:3,5,8",
    "xray:normal,pneumonia",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
)
"""The sets of ``benchmarks.voters``."""


@dataclass(frozen=True)
class Eyes:
    """Who votes, and a judge; each looks at an image once."""

    voter: RememberingEncoder
    head: Remembering

    @classmethod
    def of(cls, name: str, head: Remembering, folder: Path) -> Eyes:
        """Load a voter, with what it saw before."""
        voter = load_encoder(name)
        return cls(RememberingEncoder(voter, Remembering(voter.embed, folder / f"{name}.npz")), head)

    def keep(self) -> None:
        """Write what they saw."""
        for each in (self.voter.rows, self.head):
            each.keep()

    def look(self, name: str, pictures: Pictures) -> np.ndarray:
        """Images as a judge sees them."""
        return self.head(pictures) if name == HEAD else pixel_array(list(pictures), CNN_SIDE)


def main() -> None:
    """Measure what is missing, and print."""
    given = arguments(__doc__, seeds=5)
    torch.set_num_threads(1)
    names = [each for each in given.sets if available(each) and each in DEFAULT]
    look = load_onnx(HEAD)
    assert look is not None, "PCEVOLVE_BENCH_DATA names no weights of the judge"
    head = Remembering(look, given.cache / f"{HEAD}.npz")
    eyes = {voter: Eyes.of(voter, head, given.cache) for voter in VOTERS}
    cases = [
        Dataset(name, shots, source, seed, voter)
        for seed in range(given.seeds)
        for voter in VOTERS
        for source in SOURCES
        for name in names
        for shots in SHOTS
    ]
    steps = {each.step: partial(measure, each, eyes[each.voter], given.cache) for each in cases}
    try:
        rows = resume_in_steps(given.cache / "second-runs.jsonl", steps)
        # What is far is called not useful, whatever else is said of it; the network takes longest.
        near = [row for row in rows if row["distance"] <= BOUNDS.far and CNN not in row["closed"]]
        again = [Dataset.of_row(row) for row in near]
        asked = resume_in_steps(
            given.cache / "second-network.jsonl",
            {each.step: partial(measure, each, eyes[each.voter], given.cache, CNN) for each in again},
        )
    finally:
        for each in eyes.values():
            each.keep()
    write(given.out, rows, asked)


@dataclass(frozen=True)
class Dataset:
    """One run: of which set and shots, who provided, which draw, and who selected."""

    set: str
    shots: int
    source: str
    seed: int
    voter: str

    @property
    def step(self) -> str:
        """A name of its own."""
        return f"{self.set}, {self.shots} shots, {self.source}, seed {self.seed}, {self.voter}"

    @classmethod
    def of_row(cls, row: Row) -> Dataset:
        """That of a row of JSON."""
        return cls(**{each.name: row[each.name] for each in fields(cls)})


def write(out: Path, rows: Sequence[Row], asked: Sequence[Row]) -> None:
    """Write the rows, with what the network said of some, and print the tables."""
    said = {Dataset.of_row(each): each["closed"] for each in asked}
    rows = [
        {**row, "closed": {**row["closed"], **said.get(Dataset.of_row(row), {}), "voted": False}}
        for row in rows
    ]
    (out / "second.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    print("\n".join(pages(rows)))


def measure(case: Dataset, eyes: Eyes, folder: Path, by: str = HEAD) -> list[Row]:
    """Run, and have one judge say how much of the way from chance to the shots the dataset goes."""
    drawn = Draw.of(case.set, case.shots, case.seed)
    random = np.random.default_rng([case.seed, case.shots, SOURCES.index(case.source)])
    labels = drawn.shots.labels
    pools = fill_pools(case.source, case.set, drawn.free, random, folder)
    generator = FromPools({label: itertools.cycle(pool) for label, pool in zip(labels, pools, strict=True)})
    trial = Trial(
        case.set,
        "dp-means",
        "10",
        case.shots,
        case.seed,
        candidates=PICKED,
        # The bundled model's images are drawn once, three for each that is chosen; others are asked as runs do.
        initial=CANDIDATES // PICKED if case.source == "bundled" else None,
        appearance="as-is",
        encoder=case.voter,
    )
    plan, method = make_plan(trial, labels, Images(width=64, height=64, steps=4, guidance=1.0))
    watch = Watch()
    evolved = ran(plan, method, drawn.shots, generator, SeededNoise(case.seed), watch, eyes.voter)
    found, scene = watch.assessed, watch.scene
    assert found is not None
    assert scene is not None
    made = [[generator.made[each.digest] for each in evolved.dataset[label]] for label in labels]
    pictures, targets = list(itertools.chain(*made)), repeat_classes([np.empty(len(each)) for each in made])
    row = {
        **asdict(case),
        "closed": {by: _share(by, pictures, targets, drawn, case, eyes)},
        **found.model_dump(),
        "word": found.word("image"),
    }
    if case.voter == JOINED:
        events = method.plan_events(plan)[scene.iteration]
        plain = _unshrink(watch.measured, scene, events)
        for called, released in (("checks", plain), ("drawn_checks", means_of(watch.measured))):
            found_by_halves = cross_check(watch.measured, scene, released)
            row[called] = [round(each, 4) for each in found_by_halves]
    return [row]


def _share(
    name: str, pictures: Pictures, targets: np.ndarray, drawn: Draw, case: Dataset, eyes: Eyes
) -> float:
    """Of the way from chance to the shots, by one judge."""

    def read(shown: Pictures, labels: np.ndarray) -> float:
        real = eyes.look(name, drawn.test.items)
        made, truth = eyes.look(name, shown), drawn.test.targets
        if name == HEAD:
            return judge(name, made, labels, real, truth, case.seed)
        training = Training(made, labels, len(drawn.shots.labels))
        return float((train_cnn(training, case.seed, QUICK_STEPS)(real) == truth).mean())

    key = name, case.set, case.shots, case.seed
    if key not in _CEILINGS:
        _CEILINGS[key] = read(drawn.shots.items, drawn.shots.targets)
    found, classes = read(pictures, targets), len(drawn.shots.labels)
    return round(share_of_way(found, _CEILINGS[key], classes), 4)


_CEILINGS: dict[tuple[str, str, int, int], float] = {}
"""What the shots themselves teach: the same for every source."""


def cross_check(measured: Measurement, scene: SelectionInput, released: FloatArray) -> tuple[float, float]:
    """What each half of the release says of what the other half alone would have picked, as cosines.

    Args:
        released: What is compared with, float64 ``(classes, k)``: class means, or deviations as they were drawn.
    """
    points = [
        project(pool[np.isfinite(pool).all(axis=1)], measured["centre"], measured["axes"])
        for pool in scene.pools
    ]
    aims, ruler = aims_of(measured), scene.ruler(measured)
    halves = slice(0, MOST_AXES), slice(MOST_AXES, None)
    found = []
    for picks, checks in (halves, halves[::-1]):
        made = []
        for target, rows in enumerate(points):
            order = rank(squared_distances(rows[:, picks], aims[:, picks]), target, ruler)
            made.append(rows[order[:PICKED]][:, checks].mean(axis=0))
        found.append(_cosine(np.stack(made), released[:, checks]))
    return found[0], found[1]


def _unshrink(measured: Measurement, scene: SelectionInput, events: tuple) -> FloatArray:
    """Deviations as they were drawn, float64 ``(classes, k)``; 0 where nothing was kept of them."""
    noisy, _, told = CentreFirst(scene.coordinates, scene, events).recover_noisy_deviations(measured)
    whole_width = np.zeros((len(noisy), len(told)))
    whole_width[:, told] = noisy
    return whole_width


def _cosine(own: FloatArray, theirs: FloatArray) -> float:
    own, theirs = own - own.mean(axis=0), theirs - theirs.mean(axis=0)
    scale = float(np.linalg.norm(own) * np.linalg.norm(theirs))
    return float((own * theirs).sum()) / scale if scale else 0.0


if __name__ == "__main__":
    main()
