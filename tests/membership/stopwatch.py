"""A provider who sees nothing but a clock, and bets on one of two datasets by when requests came and when it was over.

The client is the whole one, from ``execute`` to the socket. Which dataset it runs on is a coin's choice each time, so
that right bets of an attacker who knows nothing are binomial, whatever else the machine is doing.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from pcevolve.app.session.preflight import check_run
from pcevolve.keeper import components
from pcevolve.keeper.components import Components
from pcevolve.public.config.config import RunConfig
from pcevolve.public.encoders import Encoder, load_encoder
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.wire.egress.gate import Gate
from pcevolve_benchmarks.together import execute

TESTS = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")
LABELS = ("cut", "good")
SMALL = (64, 64)
LARGE = (1500, 1000)
SECONDS_PER_MEGAPIXEL, SECONDS_PER_IMAGE = 0.8, 0.04
"""How slow the encoder is made: far above what a busy machine adds, and asleep, so that it adds nothing itself."""
PATIENT = 20
ERROR = 1e-3
"""Probability with which an attacker who knows nothing is taken for one who knows something."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets: all units are alike but the first, which in the first dataset is one small image.

    Attributes:
        name: What the first unit differs in.
        size: Of the second dataset's first unit's first image; its others are small.
        images: How many images the second dataset's first unit has.
    """

    name: str
    size: tuple[int, int] = SMALL
    images: int = 1

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Make both datasets."""
        second = (self.size, *(SMALL,) * (self.images - 1))
        return _dataset(folder / "first", (SMALL,)), _dataset(folder / "second", second)


IMAGE_SIZE = Pair("image size", size=LARGE)
PATIENT_SIZE = Pair("patient size", images=PATIENT)
BOTH = Pair("image and patient size", LARGE, PATIENT)


def _dataset(folder: Path, first: tuple[tuple[int, int], ...]) -> Path:
    """Class folders and a unit map; the first unit has images of these sizes, and each other one a small image."""
    noise = np.random.default_rng(1)
    named = [(LABELS[0], f"first-{number}", "first", size) for number, size in enumerate(first)]
    named += [
        (label, f"{label}-{number}", f"{label}-{number}", SMALL) for label in LABELS for number in range(2)
    ]
    for label, name, _, size in named:
        path = folder / "private" / label / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise.integers(0, 256, (30, 40, 3), dtype=np.uint8)).resize(size).save(path)
    lines = [f"{label}/{name}.png,{unit}" for label, name, unit, _ in named]
    (folder / "units.csv").write_text("\n".join(["file,patient", *lines]))
    return folder


@dataclass(frozen=True)
class SlowEncoder:
    """An encoder that takes its time over large images, as large encoders do, and a little over each."""

    inner: Encoder

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def frame(self) -> PublicFrame | None:
        return self.inner.frame

    def embed(self, images: Sequence[Image.Image | None]) -> np.ndarray:
        if len(images) > 1:  # the owner's; candidates are embedded one at a time
            pixels = sum(each.width * each.height for each in images if each is not None)
            time.sleep(SECONDS_PER_MEGAPIXEL * pixels / 1e6 + SECONDS_PER_IMAGE * len(images))
        return self.inner.embed(images)


@contextmanager
def _slow() -> Iterator[None]:
    """Every client's encoder is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "load_encoder", lambda *given: SlowEncoder(load_encoder(*given)))
        yield


@dataclass
class Listener:
    """The provider's process."""

    process: subprocess.Popen[str]
    port: int = 0

    def heard(self) -> list[tuple[str, float]]:
        """Everything that a run showed which is over, down to its last closed connection."""
        assert self.process.stdin is not None
        print("over", file=self.process.stdin, flush=True)
        events: list[tuple[str, float]] = []
        # On a busy machine a connection may end between two requests, and another carry the second.
        while ("over", 0.0) not in events or _open(events):
            name, when = self._line()
            events.append((name, 0.0 if name == "over" else when))
        return events

    def _line(self) -> tuple[str, float]:
        assert self.process.stdout is not None
        event, number = json.loads(self.process.stdout.readline())
        return event, number


def _open(events: list[tuple[str, float]]) -> int:
    return sum({"opened": 1, "closed": -1}.get(name, 0) for name, _ in events)


@contextmanager
def listening() -> Iterator[Listener]:
    """A provider with a clock."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "membership.listener"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        listener = Listener(process)
        listener.port = int(listener._line()[1])
        try:
            yield listener
        finally:
            process.kill()


def silences(events: list[tuple[str, float]]) -> list[float]:
    """Seconds from each answer to the next request, and from the last answer to the end of the connection.

    Of requests that were under way at once the next one is counted in their order; it may have been there before.
    """
    answered = sorted(when for name, when in events if name == "answered")
    asked = sorted(when for name, when in events if name == "asked")
    closed = max(when for name, when in events if name == "closed")
    return [after - before for before, after in zip(answered, [*asked[1:], closed], strict=True)]


@dataclass(frozen=True)
class Client:
    """A whole run of a small plan.

    Attributes:
        rounds: Of variation; 0: the default of ``dp-means``.
        tick: ``privacy.pad_selection``.
    """

    rounds: int
    tick: float

    def run(self, dataset: Path, port: int, out: Path) -> None:
        values: dict[str, Any] = {
            "private": str(dataset / "private"),
            "unit_map": dataset / "units.csv",
            "out": out / "run",
            "ledger": out / "ledger" / "ledger.sqlite",
            "domain": "leather texture",
            "method": "dp-means",
            "appearance": "auto",
            "api": f"http://127.0.0.1:{port}",
            "shots": 2,
            "yes": True,
            "candidates": 1,
            "batch": 4,
            "pad_selection": self.tick,
            **({"iterations": self.rounds} if self.rounds else {}),
        }
        execute(check_run(RunConfig.of(values)))


@dataclass(frozen=True)
class Bet:
    """One silence and a threshold: the best of all on what the attacker trained on.

    Attributes:
        silence: Which; -1 is the one before the end.
        threshold: Seconds.
        longer: Whether longer ones speak for the second dataset.
    """

    silence: int
    threshold: float
    longer: bool

    def on_second(self, seen: list[float]) -> bool:
        return (seen[self.silence] > self.threshold) == self.longer


def train(seen: list[list[float]], sides: list[int]) -> Bet:
    """The stump that is right most often, and by the widest margin among those."""
    return max(_stumps(seen), key=lambda scored: (_right(scored[0], seen, sides), scored[1]))[0]


def _stumps(seen: list[list[float]]) -> Iterator[tuple[Bet, float]]:
    """Every threshold between two neighbours, either way round, with how far apart they are."""
    for silence in range(len(seen[0])):
        values = sorted(each[silence] for each in seen)
        for before, after in itertools.pairwise(values):
            for longer in (True, False):
                yield Bet(silence, (before + after) / 2, longer), after - before


def _right(bet: Bet, seen: list[list[float]], sides: list[int]) -> int:
    return sum(bet.on_second(each) == bool(side) for each, side in zip(seen, sides, strict=True))


@dataclass(frozen=True)
class Verdict:
    """Outcome of the bets.

    Attributes:
        right: Of ``judged`` bets.
        low, high: Clopper's and Pearson's limits of the share of right bets, of error probability ``ERROR`` in all.
        medians: Of each silence, on the first and on the second dataset, in seconds.
    """

    pair: str
    client: str
    rounds: int
    tick: float
    judged: int
    right: int
    bet: Bet
    medians: list[tuple[float, float]] = field(repr=False)

    @property
    def knows_nothing(self) -> bool:
        """True if blind guesses are right as often with more than the error probability."""
        return bool(stats.binom.sf(self.right - 1, self.judged, 0.5) >= ERROR)

    @property
    def limits(self) -> tuple[float, float]:
        found = stats.binomtest(self.right, self.judged).proportion_ci(1 - ERROR)
        return float(found.low), float(found.high)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "limits": self.limits, "knows_nothing": self.knows_nothing}


@contextmanager
def take_defences_away() -> Iterator[None]:
    """A client whose connection stays open until the run ends, and that looks at images when it needs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gate, "_close_after_the_last", lambda gate: None)
        patch.setattr(Components, "prepare", lambda components, plan, told: None)
        yield


def time_runs(pair: Pair, client: Client, training: int, judged: int, name: str = "as it is") -> Verdict:
    """Let the attacker train on some runs, and judge him by others."""
    coin = random.Random(f"{pair.name}/{client.rounds}")
    sides = [coin.randrange(2) for _ in range(training + judged)]
    with _memory() as folder, listening() as listener, _slow():
        datasets = pair.write(folder)
        seen = [
            _watch_run(client, datasets[side], listener, folder / str(run))
            for run, side in enumerate([0, *sides])
        ]
    del seen[0]  # imports take seconds
    bet = train(seen[:training], sides[:training])
    right = _right(bet, seen[training:], sides[training:])
    return Verdict(pair.name, name, client.rounds, client.tick, judged, right, bet, _medians(seen, sides))


def _watch_run(client: Client, dataset: Path, listener: Listener, out: Path) -> list[float]:
    client.run(dataset, listener.port, out)
    return silences(listener.heard())


def _medians(seen: list[list[float]], sides: list[int]) -> list[tuple[float, float]]:
    table, of = np.array(seen), np.array(sides)
    first, second = (np.median(table[of == side], axis=0) for side in (0, 1))
    return [(round(float(a), 4), round(float(b), 4)) for a, b in zip(first, second, strict=True)]


@contextmanager
def _memory() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
