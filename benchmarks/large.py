"""A private folder of Camelyon17's size through the client's own code: listed, read, embedded, counted.

    .venv/bin/python -m benchmarks.large --images 300000 --work runs/large

It writes that many PNGs of 96 x 96, all different, in two classes, unless they are there, and tells seconds of each
step and the most memory. The encoder is the bundled one; votes are those of `pe`, among random candidates. The folder
stays: remove it afterwards.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.rows import parser_of
from pcevolve.keeper.private.dataset import load
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.keeper.private.listing import list_folder
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import load_encoder
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import SelectionInput
from pcevolve.public.selectors.votes import Votes

CLASSES = ("normal", "tumour")
SIDE = 96
EVERY = 10_000
"""Images from one line of progress to the next."""
EVENTS = (Event("gaussian", "2", 1),)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print one line of JSON."""
    given = _parse(arguments)
    for target, label in enumerate(CLASSES):
        _write(given.work / label, given.images // len(CLASSES), target)
    seconds: dict[str, float] = {}
    with _time(seconds, "list"):
        listing = list_folder(given.work)
    with _time(seconds, "read"):
        data = load(listing, show_progress=_teller("read"))
    views = PrivateViews(data, load_encoder("bundled"))
    with _time(seconds, "embed"):
        views.prepare(with_appearances=False, show_progress=_teller("embedded"))
    with _time(seconds, "count votes"):
        scene = _scene(views, given.candidates)
        Votes(ranked=True).measure(views.embeddings(None), scene, EVENTS, SeededNoise(0))
    found = {
        "images": len(data.targets),
        "side": SIDE,
        "candidates_per_class": given.candidates,
        "seconds": seconds,
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--images", type=int, default=300_000)
    parser.add_argument("--candidates", type=int, default=1000, help="of each class")
    parser.add_argument("--work", type=Path, default=Path("runs/large"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/large.json"))
    return parser.parse_args(arguments)


def _write(folder: Path, count: int, target: int) -> None:
    """Different images of one class: coloured patches under fine noise of few levels."""
    if (folder / f"{count - 1:06d}.png").is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(target)
    for number in range(count):
        patches = Image.fromarray(random.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize((SIDE, SIDE))
        grain = random.integers(0, 4, (SIDE, SIDE, 1), dtype=np.uint8)
        Image.fromarray((np.asarray(patches) & 0xFC) | grain).save(
            folder / f"{number:06d}.png", compress_level=1
        )
        _teller(f"written of {folder.name}")(number + 1, count)


def _scene(views: PrivateViews, candidates: int) -> SelectionInput:
    """A first round, whose candidates lie as the private images do."""
    random = np.random.default_rng(0)
    width = views.embeddings(None).embeddings.shape[1]
    spread = views.embeddings(None).embeddings[:1000].std()
    pools = tuple(
        random.normal(0, spread, (candidates, width)).astype(np.float32).astype(np.float64) for _ in CLASSES
    )
    return SelectionInput(CLASSES, pools, candidates, 1, 1, 1, 0, "add-remove")


@contextmanager
def _time(seconds: dict[str, float], step: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[step] = round(time.monotonic() - started, 1)
    print(f"{step}: {seconds[step]} s", file=sys.stderr, flush=True)


def _teller(what: str) -> Callable[[int, int], None]:
    """Writes a line of progress now and then."""

    def tell(done: int, all_of_them: int) -> None:
        if done % EVERY == 0:
            print(f"{done:,} of {all_of_them:,} {what}", file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    main()
