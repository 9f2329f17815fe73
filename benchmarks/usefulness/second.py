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
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.judges import CNN, Pictures, judge, load_onnx
from benchmarks.library.judges import Remembering, RememberingEncoder
from benchmarks.private_sets import DATA, SIDE, available, say_nothing, whole
from benchmarks.release.data import PER_CLASS, RealSet, draw_candidates
from benchmarks.release.seen import CANDIDATES, arguments, repeat_classes
from benchmarks.rows import Row, resume_in_steps, table
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.trial import Watch, make_plan, ran
from benchmarks.split import SETS
from benchmarks.usefulness.__main__ import other_domain, paint_noise
from benchmarks.usefulness.cases import PICKED, WORDS, WORTH, share_of_way
from pcevolve.keeper.evaluation.heads import CNN_SIDE, QUICK_STEPS, Training, train_cnn
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import FloatArray, SeededNoise
from pcevolve.public.encoders import BUNDLED, JOINED, load_encoder
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.evolution import Ask
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.frame import MOST_AXES, project
from pcevolve.public.modality import Images
from pcevolve.public.release import Candidate
from pcevolve.public.selectors.means import aims_of, means_of, rank
from pcevolve.public.selectors.selection import Measurement, SelectionInput
from pcevolve.public.selectors.sums import CentreFirst
from pcevolve.public.usefulness import BOUNDS
from pcevolve_shared import images as wire

HEAD = "squeezenet"
JUDGES = (HEAD, CNN)
SHOTS = (10, 50)
APART = ("few", "half", "textures", "objects")
"""Sources that had no say in the bound of *not useful*."""
SOURCES = ("real", "quarter", "bundled", "other", "swapped", "noise", *APART)
ASKED = 80
"""Candidates of each class, as runs ask for them."""
OF_SET = {"few": 4, "quarter": 20, "half": 40}
"""Of ``ASKED`` of each class, images of the set; the others are of another one."""
ALIEN = ("other", "swapped", "noise", "textures", "objects")
"""Sources without an image of the domain."""
FOLDERS = {
    "textures": [f"dtd_textures/{name}" for name in ("banded", "braided", "bubbly", "bumpy", "crystalline")],
    "objects": [f"public_images/{name}" for name in ("bird", "clothing", "flower", "fruit", "vegetable")],
}
"""A folder for each class, in turn."""
VOTERS = (JOINED, BUNDLED)
"""That of which each half checks the other, and the default."""
TESTED = 200
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
Pool = list[Image.Image]


@dataclass
class FromPools:
    """The generator of one run: hands out images of each class's pool in turn, whatever it is asked."""

    pools: dict[str, Iterator[Image.Image]]
    made: dict[str, Image.Image] = field(default_factory=dict)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Name candidates; here their ids stand for their digests."""
        for call, _ in asks:
            names = [call.output(place) for place in range(call.count)]
            self.made.update({name: next(self.pools[call.label]) for name in names})
            yield tuple(Candidate(name, call.label, call.iteration, None, name) for name in names)

    def received(self, digest: str) -> bytes:
        """A picture."""
        return _encode(self.made[digest])


_ENCODED: dict[int, tuple[Image.Image, bytes]] = {}
"""By identity: the image, which keeps its number for as long as it is here, and its bytes."""


def _encode(image: Image.Image) -> bytes:
    if id(image) not in _ENCODED:
        _ENCODED[id(image)] = image, wire.encode(image)
    return _ENCODED[id(image)][1]


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


@cache
def read_set(name: str) -> PrivateDataset:
    """One set; of each class at most ``PER_CLASS`` images, the same in every run; names say nothing."""
    records = whole(name)
    random, classes = np.random.default_rng(0), range(len(records.labels))
    kept = [random.permutation(np.flatnonzero(records.targets == each))[:PER_CLASS] for each in classes]
    return say_nothing(records.subset(np.concatenate(kept)))


@dataclass(frozen=True)
class Draw:
    """Shots, images that a provider may have, and those that are tested on, of one set and seed."""

    shots: PrivateDataset
    free: PrivateDataset
    test: PrivateDataset

    @classmethod
    def of(cls, name: str, shots: int, seed: int) -> Draw:
        """Draw; nobody has two of the three."""
        here, random = read_set(name), np.random.default_rng([seed, shots])
        classes = range(len(here.labels))
        own = np.concatenate(
            [random.permutation(np.flatnonzero(here.targets == each))[:shots] for each in classes]
        )
        rest = random.permutation(np.delete(np.arange(len(here)), own))
        free, test = np.array_split(rest, 2)
        return cls(here.subset(own), here.subset(free), here.subset(test[:TESTED]))


def measure(case: Dataset, eyes: Eyes, folder: Path, by: str = HEAD) -> list[Row]:
    """Run, and have one judge say how much of the way from chance to the shots the dataset goes."""
    drawn = Draw.of(case.set, case.shots, case.seed)
    random = np.random.default_rng([case.seed, case.shots, SOURCES.index(case.source)])
    labels = drawn.shots.labels
    pools = _fill_pools(case.source, case.set, drawn.free, random, folder)
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


def _fill_pools(
    source: str, name: str, free: PrivateDataset, random: np.random.Generator, folder: Path
) -> list[Pool]:
    """Images of each class, in the order in which they are handed out."""
    classes = range(len(free.labels))
    if source == "noise":
        return [_shuffle(_paint(), random) for _ in classes]
    if source in FOLDERS:
        folders = [_read_folder(each) for each in FOLDERS[source]]
        return [_shuffle(folders[k % len(folders)], random) for k in classes]
    if source == "bundled":
        about = RealSet([], np.zeros(0), SETS[name].domain, whole(name).labels)
        return draw_candidates(about, CANDIDATES, folder)
    if source == "real":
        return [_shuffle(free.items, random) for _ in classes]
    other = read_set(other_domain(name))
    if source == "swapped":
        kinds = len(other.labels)
        return [
            _shuffle(other.subset(np.flatnonzero(other.targets == k % kinds)).items, random) for k in classes
        ]
    if source == "other":
        return [_shuffle(other.items, random) for _ in classes]
    own = OF_SET[source]
    mixed = [
        _shuffle(free.items, random)[:own] + _shuffle(other.items, random)[: ASKED - own] for _ in classes
    ]
    return [_shuffle(each, random) for each in mixed]


def _shuffle(items: Pictures, random: np.random.Generator) -> Pool:
    return [each for k in random.permutation(len(items)) if (each := items[k]) is not None]


@cache
def _read_folder(name: str) -> Pool:
    """Images of a folder and of those in it, small."""
    files = sorted(path for path in Path(os.environ[DATA], name).rglob("*") if path.is_file())[:ASKED]
    return [Image.open(path).convert("RGB").resize((SIDE, SIDE)) for path in files]


@cache
def _paint() -> Pool:
    return list(paint_noise(300))


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


OWN = "the product's"
RULES: dict[str, Callable[[Row, float], bool]] = {
    OWN: lambda row, bound: row["word"] == "useful",
    "second look": lambda row, bound: _may_be_useful(row) and float(np.mean(row["checks"])) >= bound,
    "second look at what was drawn to the candidates": lambda row, bound: (
        _may_be_useful(row) and float(np.mean(row["drawn_checks"])) >= bound
    ),
}


def _may_be_useful(row: Row) -> bool:
    """True unless images lie far off, noise hides the classes, or words alone draw them."""
    words, apart = row["words_agree"], row["classes_apart"]
    free = words is not None and words >= BOUNDS.matched
    return row["distance"] <= BOUNDS.far and apart >= BOUNDS.distinct and not free


WANTED = 0.95
FOUND = 0.97
"""Of datasets without an image of the domain, how many are to be called not useful."""


def choose_strange(rows: Sequence[Row]) -> float:
    """The bound of *not useful* in the middle between all that is worth it and ``FOUND`` of what has nothing of it."""
    chose = [row for row in rows if row["source"] not in APART]
    worth = max(
        row["nearest"] for row in chose if row["source"] not in ALIEN and row["closed"][HEAD] >= WORTH
    )
    alien = np.quantile([row["nearest"] for row in chose if row["source"] in ALIEN], 1 - FOUND)
    return float(worth + alien) / 2


def list_bounds(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Of each bound of *not useful*, and of that chosen without each set, how many are found and how many wronged."""
    names = dict.fromkeys(row["set"] for row in rows)
    apart = {name: choose_strange([row for row in rows if row["set"] != name]) for name in names}
    bounds: dict[str, Callable[[Row], bool]] = {
        f"nearest quarter, {bound}": partial(_is_beyond, "nearest", dict.fromkeys(names, bound))
        for bound in (0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
    }
    bounds["all images, 0.9"] = partial(_is_beyond, "distance", dict.fromkeys(names, 0.9))
    chosen = (
        f"nearest quarter, chosen without the set, {min(apart.values()):.2f} to {max(apart.values()):.2f}"
    )
    bounds[chosen] = partial(_is_beyond, "nearest", apart)
    for called, beyond in bounds.items():
        cells = []
        for part in (False, True):
            here = [row for row in rows if (row["source"] in APART) == part]
            alien = [beyond(row) for row in here if row["source"] in ALIEN]
            worth = [
                beyond(row) for row in here if row["source"] not in ALIEN and row["closed"][HEAD] >= WORTH
            ]
            cells += [_share_of(sum(each), len(each)) for each in (alien, worth)]
        yield [called, *cells]


def _is_beyond(figure: str, bounds: Mapping[str, float], row: Row) -> bool:
    return bool(row[figure] > bounds[row["set"]])


def choose_bound(rows: Sequence[Row], rule: str, name: str) -> float:
    """The least bound at which the word is right in 95 of 100 by a judge."""
    for bound in np.arange(0.0, 1.0, 0.02):
        said = [row for row in rows if RULES[rule](row, bound)]
        if said and np.mean([row["closed"][name] >= WORTH for row in said]) >= WANTED:
            return float(bound)
    return 1.0


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """Of each rule, how often it is right and of how much of what is worth it it is said, by shots and judge."""
    lines = []
    for voter, rule, shots in itertools.product(VOTERS, RULES, SHOTS):
        here = [row for row in rows if (row["voter"], row["shots"]) == (voter, shots)]
        if not here or (rule != OWN and voter != JOINED):
            continue
        said, bounds = [], []
        for name in dict.fromkeys(row["set"] for row in here):
            bound = choose_bound([row for row in here if row["set"] != name], rule, HEAD)
            bounds.append(bound)
            said += [row for row in here if row["set"] == name and RULES[rule](row, bound)]
        chosen = "" if rule == OWN else f"{min(bounds):.2f} to {max(bounds):.2f}"
        lines.append([voter, rule, str(shots), str(len(here)), chosen, *_rates(here, said)])
    heads = ["selected by", "rule", "shots", "datasets", "bounds"]
    heads += [
        f"{what}, {each}"
        for each in JUDGES
        for what in ("right, of those called useful", "called so, of those worth it")
    ]
    yield table(heads, lines)
    for voter in VOTERS:
        here = [row for row in rows if row["voter"] == voter]
        yield table(
            [
                f"bound of not useful, {voter}",
                *(
                    f"{what}{where}"
                    for where in ("", ", apart")
                    for what in ("nothing of the domain, found", "worth it, called so")
                ),
            ],
            list_bounds(here),
        )
        yield table(
            [f"provider, {voter}", "datasets", *(f"{word}: worth it" for word in WORDS)], list_words(here)
        )


def _rates(rows: Sequence[Row], said: Sequence[Row]) -> Iterator[str]:
    """Of each judge, how often what was said is right, and of how much of what is worth it it was said."""
    for each in JUDGES:
        asked = [row["closed"][each] >= WORTH for row in rows if each in row["closed"]]
        right = [row["closed"][each] >= WORTH for row in said if each in row["closed"]]
        yield _share_of(sum(right), len(right))
        yield _share_of(sum(right), sum(asked))


def list_words(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Of each kind of provider, how many datasets got which word, and how many of these are worth it, by the head."""
    for source in SOURCES:
        here = [row for row in rows if row["source"] == source]
        cells = []
        for word in WORDS:
            said = [row for row in here if row["word"] == word]
            cells.append(f"{len(said)}: {sum(row['closed'][HEAD] >= WORTH for row in said)}")
        yield [source, str(len(here)), *cells]


def _share_of(some: int, of: int) -> str:
    """A share with its 95 % interval, by Wilson."""
    if not of:
        return "–"
    share, z = some / of, 1.96
    middle, half = share + z**2 / (2 * of), z * (share * (1 - share) / of + z**2 / (4 * of**2)) ** 0.5
    low, high = ((middle + sign * half) / (1 + z**2 / of) for sign in (-1, 1))
    return f"{some} of {of}: {100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


if __name__ == "__main__":
    main()
