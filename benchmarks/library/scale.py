"""A library of a million images: what its index takes on disk and in memory, and how long it takes to answer.

::

    python benchmarks/library/scale.py --images 1000000 --out docs/results/library-scale

Descriptors, paths and words are synthetic; files are not read, which is measured by starting a server on a real folder.
The pieces are written by one process and read by another, whose peak memory is that of a server.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import faiss
import numpy as np

from pcevolve_server.library.embedding import Appearance
from pcevolve_server.library.folder import ImageFile
from pcevolve_server.library.neighbours import Neighbours
from pcevolve_server.library.shards import DIGEST_BYTES, Facts, Shelf, pieces
from pcevolve_server.library.words import WordIndex, drawn

T = TypeVar("T")
WORDS = 5000  # different labels


def main() -> None:
    """Write the pieces, then measure in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True, help="result, without suffix")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(measured(options.folder, options.images)))
        return
    with tempfile.TemporaryDirectory() as folder:
        written = timed(lambda: write(Path(folder), options.images))[1]
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        command = [
            sys.executable,
            __file__,
            "--images",
            str(options.images),
            "--out",
            "x",
            "--folder",
            folder,
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = {"images": options.images, "write_seconds": written, "disk_mib": size / 2**20}
    figures |= json.loads(done.stdout)
    options.out.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its seconds."""
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def files(count: int) -> list[ImageFile]:
    """Paths as long as real ones are."""
    return [
        ImageFile(f"part {n // 10_000:03d}/label {n % WORDS:05d}/image_{n:09d}.jpg", 20_000 + n % 999, n)
        for n in range(count)
    ]


def shelf(folder: Path) -> Shelf:
    return Shelf(folder, Appearance.name, Appearance.size)


def write(folder: Path, count: int) -> None:
    """Keep random descriptors around a few thousand centres."""
    random = np.random.default_rng(0)
    centres = random.integers(60, 196, (2000, Appearance.size), dtype=np.uint8)
    for piece in pieces(files(count)):
        own = centres[random.integers(0, len(centres), len(piece))]
        codes = own + random.integers(0, 40, own.shape, dtype=np.uint8)
        digests = random.integers(0, 256, (len(piece), DIGEST_BYTES), dtype=np.uint8)
        shelf(folder).keep(piece, Facts(np.full((len(piece), 2), 128, np.int32), digests, codes))


def _loaded(folder: Path, listing: list[ImageFile]) -> Iterator[Facts]:
    """The facts of every piece that was kept."""
    for piece in pieces(listing):
        facts = shelf(folder).load(piece)
        assert facts is not None, "a piece that was just written is not on the shelf"
        yield facts


def measured(folder: Path, count: int) -> dict[str, object]:
    """Load as a server does, and answer."""
    faiss.omp_set_num_threads(1)
    listing = files(count)
    facts, load = timed(lambda: Facts.joined(list(_loaded(folder, listing))))
    index, build = timed(lambda: Neighbours(facts.codes))
    texts = (frozenset({"part", str(n // 10_000), "label", f"label{n % WORDS}"}) for n in range(count))
    words, indexed = timed(lambda: WordIndex(texts))
    weights, weighed = timed(lambda: words.weights("part 7 with label123"))
    among = weights > 0
    answers = {}
    for name, chosen in (("all", None), (f"the prompt's {among.sum()}", among)):
        for ranks in (1, 100, 10_000, 100_000):
            seconds = timed(partial(index.nearest, facts.codes[5], ranks, chosen))[1]
            answers[f"{name}, {ranks} ranks"] = round(1000 * seconds, 1)
    return {
        "load_seconds": load,
        "index_seconds": build,
        "words_seconds": indexed,
        "prompt_ms": 1000 * weighed,
        "draw_ms": 1000 * timed(lambda: drawn(weights, 1))[1],
        "nearest_ms": answers,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "threads": 1,
    }


if __name__ == "__main__":
    main()
