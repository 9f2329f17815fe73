"""A library of a million image files: how long a server takes to index it, to start again, and what memory it needs.

::

    python -m benchmarks.library.files --images 1000000 --work runs/files --out docs/results/library-files

It writes that many JPEGs of 64 x 64, all different, unless they are there (4 GiB of small files), and starts
``pcevolve-server serve`` twice: the first start reads every file and makes the index, the second one takes it up. Both
answer over HTTP. Where the first was cut off, the same command goes on, as a server would, and its seconds are those
of the rest. The folder stays: remove it afterwards.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.library.scale import ask_server
from benchmarks.rows import parser_of

SIDE, CELLS = 64, 8
IN_FOLDER = 200


def main() -> None:
    """Write the files, start a server twice, and tell."""
    given = _parse()
    library, cache = given.work / "library", given.work / "index"
    for number in range(0, given.images, IN_FOLDER):
        _write(library / f"part {number // 10_000:03d}" / f"label{number // IN_FOLDER:05d}", number)
    command = [
        str(Path(sys.executable).with_name("pcevolve-server")),
        "serve",
        "--model",
        f"library:{library}",
    ]
    command += ["--library-cache", str(cache), "--threads", str(given.threads)]
    found = {"images": given.images, "threads": given.threads, "indexing": ask_server(command)}
    found["again"] = ask_server(command)
    found["index_mib"] = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()) / 2**20
    given.out.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def _parse() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1, help="that read and index")
    parser.add_argument("--work", type=Path, required=True, help="where the files and the index go")
    parser.add_argument("--out", type=Path, required=True, help="result, without suffix")
    return parser.parse_args()


def _write(folder: Path, first: int) -> None:
    """One label's images, unless all of them are there."""
    if folder.is_dir():
        return
    partial = folder.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(_images(first), first):
        image.save(partial / f"image_{number:09d}.jpg", quality=85)
    partial.rename(folder)


def _images(seed: int) -> Iterator[Image.Image]:
    """Soft patches around a label's own colours."""
    random = np.random.default_rng(seed)
    centre = random.integers(40, 216, (CELLS, CELLS, 3))
    for _ in range(IN_FOLDER):
        cells = np.clip(centre + random.integers(-40, 40, centre.shape), 0, 255).astype(np.uint8)
        yield Image.fromarray(cells).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


if __name__ == "__main__":
    main()
