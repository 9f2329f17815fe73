"""Render the public training material into a folder: ``images.npy`` and ``labels.json``.

``images.npy`` is uint8 ``(count, 64, 64, 3)``; ``labels.json`` lists one object of facts per image.
The result is a function of ``--seed`` and ``--count`` alone (given the same fonts).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from material import draw
from material.facts import SIZE, Sample
from PIL import Image

BLOCK = 500  # images per unit of work; each has its own seed


def render_block(block: int, seed: int, held_out: bool) -> list[tuple[np.ndarray, dict[str, object]]]:
    """Render one block; its images depend on ``(seed, block)`` only."""
    rng = np.random.default_rng([seed, block])
    samples: Iterator[Sample] = (draw(rng, held_out) for _ in range(BLOCK))
    return [(np.asarray(s.image), asdict(s.facts)) for s in samples]


def contact_sheet(images: np.ndarray, columns: int = 16) -> Image.Image:
    """Lay out images ``(n, 64, 64, 3)`` row by row."""
    rows = len(images) // columns
    grid = images[: rows * columns].reshape(rows, columns, SIZE, SIZE, 3)
    return Image.fromarray(grid.transpose(0, 2, 1, 3, 4).reshape(rows * SIZE, columns * SIZE, 3))


def render(out: Path, count: int, seed: int, held_out: bool, workers: int) -> None:
    """Write ``images.npy``, ``labels.json`` and a contact sheet into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    blocks = -(-count // BLOCK)
    shape = (blocks * BLOCK, SIZE, SIZE, 3)
    images = np.lib.format.open_memmap(out / "images.npy", mode="w+", dtype=np.uint8, shape=shape)
    labels: list[dict[str, object]] = []
    with ProcessPoolExecutor(workers) as pool:
        for done in pool.map(partial(render_block, seed=seed, held_out=held_out), range(blocks)):
            for pixels, facts in done:
                images[len(labels)] = pixels
                labels.append(facts)
            print(f"{len(labels)} / {len(images)}", flush=True)
    images.flush()
    (out / "labels.json").write_text(json.dumps(labels))
    contact_sheet(np.asarray(images[:256])).save(out / "sheet.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--count", type=int, default=100_000, help="images, rounded up to 500s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true", help="use the fonts kept for evaluation")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    render(args.out, args.count, args.seed, args.held_out, args.workers)


if __name__ == "__main__":
    main()
