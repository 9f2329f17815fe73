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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

from benchmarks.judges import Verdict, judge, judges
from benchmarks.peers.contenders import CONTENDERS, ENCODER, Contender, Setting, run
from benchmarks.peers.yardsticks import YARDSTICKS, Yardstick, score_means, training_set
from benchmarks.private_sets import draw
from benchmarks.rows import Row, accuracy, parser_of, resume, summary, table
from pcevolve.app.first.local_server import serve_locally
from pcevolve.keeper.evaluation.closeness import measure_closeness

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

        def measure(each: Wanted) -> Row:
            setting, contender, seed = each
            about = {"setting": setting.name, "contender": contender.name, "seed": seed}
            if isinstance(contender, Yardstick):
                return {**about, **_beside(setting, contender, seed)}
            return {**about, **_measure(setting, contender, seed, url, given.checkout)}

        _until_ready(url)
        rows = resume(given.out / "peers.json", missing, measure)
    (given.out / "peers.md").write_text(render(rows, FID_EYE, ENCODER))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
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
    verdict = Verdict(ENCODER, voted=True, accuracy=round(score_means(yardstick, setting, seed), 4))
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
            found["frechet"] = round(near.frechet, 2)
    return found


def _pictures(release: Path, labels: Sequence[str]) -> tuple[list[Image.Image], np.ndarray]:
    files = [(each, k) for k, label in enumerate(labels) for each in sorted((release / label).glob("*.png"))]
    images = []
    for path, _ in files:
        with Image.open(path) as image:
            images.append(image.convert("RGB"))
    return images, np.array([target for _, target in files])


HEADER = """# Against the peers

Written by `python -m benchmarks.peers --checkout DPSDA`: DPSDA's published Private Evolution and our methods on the
same private images, the same API server (the bundled model, two processes), the same encoder (`bundled`) and the
same guarantee (δ = 1e-5, add-remove), N = 40 images per class; means and standard errors over seeds, each another
draw of the private images, other images of the provider's and other noise. Linear heads on encoders that did not
vote and a small network from scratch judge on held-out real images; the last judge **voted**. The Fréchet distance
is to held-out images and of few samples, so it compares rows of one table and nothing else. Seconds are by the
clock from the start of a process to its end, private work padded to whole seconds in ours. `pe` has the same
settings as DPSDA: three rounds at strengths 0.9, 0.75, 0.6, no lookahead, H = 0, every image varied once, 16 images
under way at once on both sides. The last three rows ask no server; their releases are at the same ε and δ, under
replace-one.

"""
FOOTER = """## What is compared, and what was seen

DPSDA is not on the package registry, and no checkout could be cloned where this was measured: its runner,
population, histogram, mechanism and data classes were put together from the files of its main branch as a public
store had them on 2026-11-24, without their docstrings and without the modules that these do not use. API class and
embedding class are what the package asks its users to write (`benchmarks/peers/published.py`). It needs omegaconf
2.3; with 2.4 it stops.

- The two implementations of Private Evolution are not told apart by any judge that did not vote, as they should not be.
  Sent one after the other, our requests took six times as long as DPSDA's with 16 under way; since `--at-once` what is
  left of the difference is the record on disk, padding of private work, and the report
  ([decision 18](../decisions/0018-the-gate-builds.md)).
- `dp-means` selects once out of as many images as the others make in all, in a twentieth of the requests. By the
  network from scratch it is ahead by 15 points on the second and the third set and not told apart on the first; by
  linear heads it is ahead by a few points or not told apart. Steel is not drawn by the bundled model: MobileNet's head
  is at chance (33 %) there whatever was selected.
- Beside the yardsticks: by the CNN neither implementation of Private Evolution is told apart from the prompt's images
  (`t2i`) as being ahead on any of the three sets; `dp-means` is ahead by 10 and 15 points on the second and the third
  and by 4, which is not told apart, on the first. On digits and MNIST the private images themselves are far ahead of
  all. On steel random phases under a released spectrum, without any generator, are ahead of everything that a generator
  drew. (`t2i` and the last three rows were measured later than the others, beside other work: its seconds say little.)
- DPSDA's noise comes from NumPy's global generator in floating point; ours from the operating system and exact.
- With its default H (none) DPSDA draws by negative counts and stops; without `fraction_per_label_id` it takes the
  classes' proportions from the private data, and says so.
"""


def render(rows: Sequence[Row], eye: str, voter: str) -> str:
    """The page."""
    settings = dict.fromkeys(row["setting"] for row in rows)
    return HEADER + "".join(_part(name, rows, eye, voter) for name in settings) + FOOTER


def _part(setting: str, rows: Sequence[Row], eye: str, voter: str) -> str:
    here = [row for row in rows if row["setting"] == setting]
    columns = _columns(here, eye, voter)
    return f"## {setting}\n\n" + table(("", "seeds", *columns.values()), _lines(here, list(columns))) + "\n"


def _columns(rows: Sequence[Row], eye: str, voter: str) -> dict[str, str]:
    others = [each for each in ("cnn", "mobilenet", "squeezenet") if accuracy(rows[0], each) is not None]
    return {
        **{each: f"{each}, %" for each in others},
        voter: f"{voter}, %: **voted**",
        "frechet": f"Fréchet distance ({eye})",
        "images": "API images",
        "requests": "requests",
        "seconds": "seconds",
    }


def _lines(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in dict.fromkeys(row["contender"] for row in rows):
        own = [row for row in rows if row["contender"] == name]
        yield (name, str(len(own)), *(summary(_figures(own, each)) for each in columns))


def _figures(rows: Sequence[Row], column: str) -> np.ndarray:
    """Return the rows' figures in a column, accuracies in percent; NaN where they say nothing."""
    shares = [100 * each for row in rows if (each := accuracy(row, column)) is not None]
    return np.array(shares or [row.get(column, np.nan) for row in rows])


if __name__ == "__main__":
    main()
