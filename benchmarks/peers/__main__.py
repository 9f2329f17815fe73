"""Against the peers, in one run: DPSDA's published package and ours on the same images, server and guarantee.

    git clone https://github.com/microsoft/DPSDA
    .venv/bin/python -m benchmarks.peers --checkout DPSDA

A checkout is given by its path; without one, a package ``pe`` that is installed is taken, if it is theirs. What it
imports beyond ours (omegaconf, pandas) has to be there. It goes on where it was cut off, and writes
docs/results/peers.{md,json}.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

from benchmarks.judges import Verdict, judge, judges
from benchmarks.peers.contenders import CONTENDERS, ENCODER, Contender, Setting, run
from benchmarks.peers.page import render
from benchmarks.peers.yardsticks import YARDSTICKS, Yardstick, said, training_set
from benchmarks.private_sets import draw
from benchmarks.rows import Row, resume
from pcevolve.evaluation.closeness import measure_closeness
from pcevolve.session.first.local_server import serve_locally

SETTINGS = (
    Setting("digits:3,5,8", 10, 10.0),
    Setting("mnist:3,5,8", 200, 1.0),
    Setting("steel:crazing,patches,scratches", 100, 2.0),
)
Wanted = tuple[Setting, Contender | Yardstick, int]
FID_EYE = "mobilenet"
"""Did not vote."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write."""
    given = _parse(arguments)
    everybody = (*CONTENDERS, *YARDSTICKS)
    wanted = [(s, each, seed) for seed in range(given.seeds) for s in SETTINGS for each in everybody]
    with serve_locally(given.work / "server.log") as url:

        def missing(rows: Sequence[Row]) -> Iterable[Wanted]:
            known = {(row["setting"], row["contender"], row["seed"]) for row in rows}
            return [each for each in wanted if (each[0].name, each[1].name, each[2]) not in known]

        def measured(each: Wanted) -> Row:
            setting, contender, seed = each
            about = {"setting": setting.name, "contender": contender.name, "seed": seed}
            if isinstance(contender, Yardstick):
                return {**about, **_beside(setting, contender, seed)}
            return {**about, **_measure(setting, contender, seed, url, given.checkout)}

        _until_ready(url)
        rows = resume(given.out / "peers.json", missing, measured)
    (given.out / "peers.md").write_text(render(rows, FID_EYE, ENCODER))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--checkout",
        type=Path,
        help="folder that has DPSDA's package pe in it; the installed one if not given",
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("runs/bench-peers"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args(arguments)
    if given.checkout is None and not _is_installed():
        parser.error(
            "DPSDA's package pe is not installed here: install it, or give a checkout with --checkout"
        )
    if given.checkout is not None and not (given.checkout / "pe" / "runner").exists():
        parser.error(f"--checkout {given.checkout}: there is no pe/runner, so it is no checkout of DPSDA")
    given.work.mkdir(parents=True, exist_ok=True)
    return given


def _is_installed() -> bool:
    """True if a package ``pe`` is installed that has a runner; others have that name too."""
    try:
        return find_spec("pe.runner") is not None
    except ModuleNotFoundError:
        return False


def _until_ready(url: str) -> None:
    """Wait until the model is loaded, so that nobody waits for it who is timed."""
    while httpx.get(f"{url}/readyz").status_code != 200:
        time.sleep(0.2)


def _measure(setting: Setting, contender: Contender, seed: int, url: str, checkout: Path | None) -> Row:
    """One run of one of them, and what the judges say of it."""
    with tempfile.TemporaryDirectory() as folder:
        release, took = run(contender, setting, seed, url, Path(folder), checkout and checkout.resolve())
        labels = draw(setting.world, setting.shots, seed)[1].labels
        images, targets = _pictures(release, labels)
    return {**asdict(took), **_judge(setting, seed, images, targets)}


def _beside(setting: Setting, yardstick: Yardstick, seed: int) -> Row:
    """Judge a yardstick; for one without images the voter itself speaks."""
    if yardstick.paints:
        return {"images": 0, **_judge(setting, seed, *training_set(yardstick, setting, seed))}
    verdict = Verdict(ENCODER, voted=True, accuracy=round(said(yardstick, setting, seed), 4))
    return {"images": 0, "verdicts": [asdict(verdict)]}


def _judge(setting: Setting, seed: int, images: list[Image.Image], targets: np.ndarray) -> Row:
    """Return each judge's accuracy, and the Fréchet distance to held-out images."""
    _, held_out = draw(setting.world, setting.shots, seed)
    verdicts: list[Row] = []
    found: Row = {"verdicts": verdicts}
    for name, look in judges(ENCODER).items():
        made, real = look(images), look(held_out.items)
        share = round(judge(name, made, targets, real, held_out.targets, seed), 4)
        verdicts.append(asdict(Verdict(name, name == ENCODER, share)))
        if name == FID_EYE:
            near = measure_closeness(np.asarray(made, np.float64), np.asarray(real, np.float64))
            found["frechet"] = round(near.fidelity.frechet, 2)
    return found


def _pictures(release: Path, labels: Sequence[str]) -> tuple[list[Image.Image], np.ndarray]:
    files = [(each, k) for k, label in enumerate(labels) for each in sorted((release / label).glob("*.png"))]
    images = []
    for path, _ in files:
        with Image.open(path) as image:
            images.append(image.convert("RGB"))
    return images, np.array([target for _, target in files])


if __name__ == "__main__":
    main()
