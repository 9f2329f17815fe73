"""Runs of the client's own loop, judge, ledger and selector, whose provider is known and whose dataset is judged.

``dp-means`` as it is by default (80 candidates of each class, 20 chosen, no rounds; delta 1e-5, replace-one), but that
images stay as they come. HTTP alone is left out, and noise is seeded. Providers: unlabelled real images of the set;
those with three times as many of another set among them; the bundled model, by the classes' own names; another set's
images; for each class those of a class of another set; coloured noise. And four that came later: as many images of the
set as of another one, or 4 of 80; photographs of textures; of birds, clothes, flowers, fruit and vegetables. Truth: the
share of the way from chance to the shots, by a head on a SqueezeNet and by the network from scratch of ``run --test``,
neither of which voted.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.judges import CNN, Pictures, judge
from benchmarks.library.judges import Remembering, RememberingEncoder
from benchmarks.private_sets import DATA, SIDE, say_nothing, whole
from benchmarks.release.data import PER_CLASS, RealSet, draw_candidates
from benchmarks.release.seen import CANDIDATES, repeat_classes
from benchmarks.rows import Row
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.trial import Watch, make_plan, ran
from benchmarks.split import SETS, by_role
from benchmarks.usefulness.cases import PICKED, share_of_way
from pcevolve.keeper.evaluation.heads import CNN_SIDE, QUICK_STEPS, Training, train_cnn
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.loop.evolution import Ask
from pcevolve.public.modality import Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate
from pcevolve.public.selectors.method import Method
from pcevolve_shared import images as wire

HEAD = "squeezenet"
JUDGES = (HEAD, CNN)
SHOTS = (10, 50)
SOURCES = ("real", "quarter", "bundled", "other", "swapped", "noise", "few", "half", "textures", "objects")
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
TESTED = 200
SETS_TRIED = (
    "malaria:parasitized,uninfected",
    "waste:cardboard,glass bottle,metal can,paper,plastic container",
    "leaf:apple scab,black rot,cedar apple rust,healthy",
    "steel:inclusion,pitted_surface,rolled-in_scale",
    "mnist:3,5,8",
    "digits:3,5,8",
    "xray:normal,pneumonia",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
)
"""Eight sets, of which no encoder here was trained on the images of the first six."""
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


@dataclass(frozen=True)
class Dataset:
    """One run: of which set and shots, who provided, which draw, who selected, and what was paid."""

    set: str
    shots: int
    source: str
    seed: int
    voter: str
    epsilon: int = 10

    @property
    def step(self) -> str:
        """A name of its own."""
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())

    @classmethod
    def of_row(cls, row: Row) -> Dataset:
        """That of a row of JSON."""
        return cls(**{each.name: row[each.name] for each in fields(cls)})


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


@dataclass(frozen=True)
class Made:
    """A run's dataset, and what its judge saw.

    Attributes:
        pictures: The dataset's images.
        targets: Their classes.
        watch: What the run released last, and says of its dataset's use.
        plan: The run's.
        method: The plan's.
    """

    pictures: Pictures
    targets: np.ndarray
    watch: Watch
    plan: PublicPlan
    method: Method


def run(case: Dataset, drawn: Draw, eyes: Eyes, folder: Path) -> Made:
    """Run; ``folder`` keeps what the bundled model drew."""
    random = np.random.default_rng([case.seed, case.shots, SOURCES.index(case.source)])
    labels = drawn.shots.labels
    pools = _fill_pools(case.source, case.set, drawn.free, random, folder)
    generator = FromPools({label: itertools.cycle(pool) for label, pool in zip(labels, pools, strict=True)})
    trial = Trial(
        case.set,
        "dp-means",
        str(case.epsilon),
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
    made = [[generator.made[each.digest] for each in evolved.dataset[label]] for label in labels]
    pictures, targets = list(itertools.chain(*made)), repeat_classes([np.empty(len(each)) for each in made])
    return Made(pictures, targets, watch, plan, method)


def find_share(name: str, made: Made, drawn: Draw, case: Dataset, eyes: Eyes) -> float:
    """Return the share of the way from chance to the shots, by one judge."""

    def read(shown: Pictures, labels: np.ndarray) -> float:
        real = eyes.look(name, drawn.test.items)
        own, truth = eyes.look(name, shown), drawn.test.targets
        if name == HEAD:
            return judge(name, own, labels, real, truth, case.seed)
        training = Training(own, labels, len(drawn.shots.labels))
        return float((train_cnn(training, case.seed, QUICK_STEPS)(real) == truth).mean())

    key = name, case.set, case.shots, case.seed
    if key not in _CEILINGS:
        _CEILINGS[key] = read(drawn.shots.items, drawn.shots.targets)
    found, classes = read(made.pictures, made.targets), len(drawn.shots.labels)
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


def other_domain(name: str) -> str:
    """The next set that shows something else: whose domain begins with another word."""
    names = by_role()
    place = names.index(name)
    return next(each for each in [*names[place:], *names[:place]] if _kind(each) != _kind(name))


def _kind(name: str) -> str:
    return SETS[name].domain.split()[0]
