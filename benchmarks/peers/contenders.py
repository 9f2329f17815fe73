"""Who runs: DPSDA's package and ours, each as a process of its own on the same private images and the same server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.private_sets import draw
from benchmarks.server.served import GUIDANCE, STEPS
from benchmarks.split import SETS
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.traffic import Counts
from pcevolve.public.words import TEMPLATE

ENCODER, DELTA, THRESHOLD = "bundled", 1e-5, 0.0
STRENGTHS = (0.9, 0.75, 0.6)
"""Of the rounds; the package has no default for them."""
PUBLISHED = "DPSDA"
OURS = Path(sys.executable).parent / "pcevolve"


@dataclass(frozen=True)
class Setting:
    """Data and budget that everybody gets.

    Attributes:
        world: Private data; see ``benchmarks.private_sets``.
        shots: Private images per class.
        epsilon: With delta = 1e-5, under add-remove.
        candidates: N, images per class.
    """

    world: str
    shots: int
    epsilon: float
    candidates: int = 40

    @property
    def name(self) -> str:
        """For people."""
        return f"{SETS[self.world].title}, {self.shots} shots per class, ε = {self.epsilon:g}"


@dataclass(frozen=True)
class Contender:
    """A program with its options.

    Attributes:
        name: For people.
        options: Of ``pcevolve run``; None for the published package.
    """

    name: str
    options: tuple[str, ...] | None


_CONTROL = ("--set", f"method.strengths={','.join(map(str, STRENGTHS))}")
_AS_PUBLISHED = (
    "--set",
    f"method.threshold={THRESHOLD}",
    *_CONTROL,
)
CONTENDERS = (
    Contender(PUBLISHED, None),
    Contender("pe, the same settings", ("--method", "pe", *_AS_PUBLISHED)),
    Contender("dp-means, its own", ("--method", "dp-means")),
    Contender("random", ("--method", "random", *_CONTROL)),
    Contender("t2i, the prompt's images", ("--method", "t2i")),
)


@dataclass(frozen=True)
class Took:
    """The cost of a run.

    Attributes:
        seconds: By the clock, from the start of the process to its end.
        requests: That the server answered.
        images: That it made.
    """

    seconds: float
    requests: int
    images: int


def write_shots(setting: Setting, seed: int, folder: Path) -> tuple[str, ...]:
    """Write the private shots as a folder of class folders; their labels."""
    shots, _ = draw(setting.world, setting.shots, seed)
    for item, target in zip(shots.items, shots.targets, strict=True):
        place = folder / shots.labels[target]
        place.mkdir(parents=True, exist_ok=True)
        assert isinstance(item, Image.Image)
        item.convert("RGB").save(place / f"{len(list(place.iterdir())):05}.png")
    return shots.labels


def run(
    contender: Contender, setting: Setting, seed: int, url: str, folder: Path, checkout: Path | None
) -> tuple[Path, Took]:
    """Run one to its end; its class folders of images, and what it took."""
    private = folder / "private"
    labels = write_shots(setting, seed, private)
    if contender.options is None:
        return _run_published(setting, seed, url, folder, checkout, labels)
    options = (*contender.options, *_share_options(setting, seed, url, private))
    seconds = _run([str(OURS), "run", *options, "--out", str(folder / "run")], folder)
    record = RunReader.strict(folder / "run")
    images = sum(call.count for call in record.require_plan().calls.values())
    requests = Counts.of(record.traffic.attempts).attempts
    return folder / "run" / "release", Took(seconds, requests, images)


def _share_options(setting: Setting, seed: int, url: str, private: Path) -> tuple[str, ...]:
    given: dict[str, Any] = {
        "private": private,
        "domain": SETS[setting.world].domain,
        "epsilon": setting.epsilon,
        "delta": DELTA,
        "relation": "add-remove",
        "shots": setting.shots,
        "candidates": setting.candidates,
        "encoder": ENCODER,
        "api": url,
        "seed": seed,
        "ledger": private.parent / "ledger" / "ledger.sqlite",
    }
    return tuple(each for name, value in given.items() for each in (f"--{name}", str(value)))


def _run_published(
    setting: Setting, seed: int, url: str, folder: Path, checkout: Path | None, labels: Sequence[str]
) -> tuple[Path, Took]:
    job = {
        "checkout": None if checkout is None else str(checkout),
        "url": url,
        "private": str(folder / "private"),
        "out": str(folder / "made"),
        "labels": labels,
        "prompts": [TEMPLATE.format(domain=SETS[setting.world].domain, label=each) for each in labels],
        "encoder": ENCODER,
        "strengths": STRENGTHS,
        "steps": STEPS,
        "guidance": GUIDANCE,
        "candidates": setting.candidates,
        "threshold": THRESHOLD,
        "lookahead": 0,
        "epsilon": setting.epsilon,
        "delta": DELTA,
        "seed": seed,
    }
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    seconds = _run([sys.executable, "-m", "benchmarks.peers.published", str(file)], folder)
    said = json.loads((folder / "made" / "took.json").read_text())
    return folder / "made", Took(seconds, said["requests"], said["images"])


def _run(command: Sequence[str], folder: Path) -> float:
    """Seconds of a process.

    Raises:
        RuntimeError: It failed; its words are in the folder.
    """
    started, log = time.monotonic(), folder / "log.txt"
    with log.open("wb") as sink:
        process = subprocess.run(command, stdout=sink, stderr=sink, check=False)
    if process.returncode != 0:
        raise RuntimeError(f"{command[:4]} failed: {log} says why")
    return time.monotonic() - started
