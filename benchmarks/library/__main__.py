"""Measure datasets out of a library of public images, on private sets that it shows well, badly or not at all.

    .venv/bin/python -m benchmarks.library --work runs/library

Each trial is a whole run of the client's own loop, judge, ledger and selectors on the server's own library; HTTP alone
is left out, and noise is seeded, so that a trial can be repeated. Classes are called "type 1", "type 2": private images
alone tell them apart. Judges are linear heads on a MobileNet and a SqueezeNet, and for some contenders
a network from scratch; the private data lie where ``PCEVOLVE_BENCH_DATA`` says. It continues where it was cut
off, and writes docs/results/library.{md,json}.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from benchmarks.judges import CNN
from benchmarks.library.cases import BY_NAME, CASES, Wanted, by_pixels, list_trials
from benchmarks.library.judges import heads
from benchmarks.library.page import page
from benchmarks.library.trial import from_scratch, library, measure
from benchmarks.private_sets import DATA, RESERVED_EVERY
from benchmarks.rows import Row, parser_of, resume

KINDS = [each.kind for each in CASES]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write."""
    given = _parse(arguments)
    torch.set_num_threads(1)
    given.work.mkdir(parents=True, exist_ok=True)
    model = library(gather(Path(os.environ[DATA]), given.work), given.work / "cache")
    out = given.out / "library.json"

    def one(asked: Wanted) -> Row:
        seed, case, contender = asked
        return measure(case, contender, seed, model, given.work)

    def one_from_scratch(asked: Wanted) -> Row:
        seed, case, contender = asked
        return from_scratch(case, contender, seed, model)

    try:
        resume(out, _list_missing(list_trials(given.seeds), given, pixels=False), one)
        rows = resume(out, _list_missing(by_pixels(given.pixel_seeds), given, pixels=True), one_from_scratch)
    finally:
        for head in heads(given.work).values():
            head.keep()
    (given.out / "library.md").write_text(page(rows))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pixel-seeds", type=int, default=10, help="of them, those that the CNN judges too")
    parser.add_argument("--sets", nargs="+", choices=KINDS, default=KINDS, help="default: all")
    parser.add_argument(
        "--contenders", nargs="+", choices=BY_NAME, default=list(BY_NAME), help="default: all"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/library"), help="library, index and features")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


def _list_missing(
    trials: Iterable[Wanted], given: argparse.Namespace, pixels: bool
) -> Callable[[Sequence[Row]], Iterable[Wanted]]:
    """Those of some trials that are asked for and not in the rows yet; the CNN's verdicts are rows of their own."""

    def missing(rows: Sequence[Row]) -> Iterable[Wanted]:
        known = {
            (row["seed"], row["world"], row["contender"])
            for row in rows
            if pixels == (row["verdicts"][0]["judge"] == CNN)
        }
        for seed, case, contender in trials:
            chosen = case.kind in given.sets and contender.name in given.contenders
            if chosen and (seed, case.world, contender.name) not in known:
                yield seed, case, contender

    return missing


NAME = "public_images"
RESERVED = ("chest x-ray", "blood smear")
"""Domains of which files with a number that ``RESERVED_EVERY`` divides are private."""
WITHHELD = ("household waste", "sa")
"""Domains that the library does not hold at all."""


def is_served(path: str) -> bool:
    """True if a file of the collection is in the library, by its path ``domain/label/number.jpg``."""
    domain = path.split("/", 1)[0]
    private = domain in RESERVED and int(Path(path).stem) % RESERVED_EVERY == 0
    return domain not in WITHHELD and not private


def gather(data: Path, work: Path) -> Path:
    """Copy the library's images, their table and their sources into a folder, once.

    Args:
        data: Folder that holds ``public_images``.
        work: Where the library is put.
    """
    source, library = data / NAME, work / NAME
    if library.exists():
        return library
    partial = work / f"{NAME}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with (source / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_served(row["file"])]
    for row in rows:
        (partial / row["file"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / row["file"], partial / row["file"])
    for name in ("manifest.csv", "SOURCES.md"):
        shutil.copy(source / name, partial)
    partial.rename(library)
    return library


if __name__ == "__main__":
    main()
