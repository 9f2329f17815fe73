"""Measure what a second view beside the encoder's own is worth to a release of class means.

    PCEVOLVE_BENCH_DATA=DIR .venv/bin/python -m benchmarks.views --public PUBLIC --rendered RENDERED

``PUBLIC`` and ``RENDERED`` are folders of ``client/training`` (its README says how they are made); frames of all rows
are of these images. A view is weighed so that a quarter of the spread of public images is its. Ten shots per class,
(10, 1e-5)-DP under replace-one, centre first, or no noise. ``accuracy``: of the nearest released mean, on half of the
images that are not among the shots. ``purity``: of 15 images per class that are selected from the other half,
unlabelled, the share of the right class. Differences are to the encoder alone, over the same draws. It goes on where it
was cut off, and writes docs/results/views.{json,md}.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.private_sets import available, whole
from benchmarks.release.data import CENTRE_FIRST, SHOTS, interval
from benchmarks.release.seen import Draw
from benchmarks.rows import Row, parser_of, resume, table
from benchmarks.split import SETS, by_role
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import load_encoder
from pcevolve.public.encoders.bundled import SIDE, measure_spectrum
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.geometry.frame import Frame, project
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, means_of

SHARE, PICKED = 0.25, 15
NOISELESS: Events = (Event("gaussian", f"1/{10**9}"),) * len(CENTRE_FIRST)
KINDS = {"released": CENTRE_FIRST, "noise-free": NOISELESS}
Images = Sequence[Image.Image]


def colour(image: Image.Image) -> np.ndarray:
    """Mean, spread and three quantiles of each channel, ``(15,)``."""
    pixels = pixel_array([image], SIDE)[0].reshape(3, -1).astype(np.float64)
    return np.concatenate([pixels.mean(1), pixels.std(1), *np.percentile(pixels, [10, 50, 90], axis=1)])


def thumbnail(image: Image.Image) -> np.ndarray:
    """4 x 4 cells, ``(48,)``."""
    cells = pixel_array([image], SIDE)[0].reshape(3, 4, SIDE // 4, 4, SIDE // 4)
    return cells.mean(axis=(2, 4), dtype=np.float64).ravel()


VIEWS: dict[str, Callable[[Image.Image], np.ndarray]] = {
    "spectrum": measure_spectrum,
    "colour": colour,
    "thumbnail": thumbnail,
}
ROWS = ((), ("spectrum",), ("colour",), ("thumbnail",), ("spectrum", "colour"), tuple(VIEWS))


@dataclass(frozen=True)
class Seen:
    """Images through every view: float64 ``(n, d)`` each; the encoder's is called ``encoder``."""

    by_view: dict[str, np.ndarray]

    @classmethod
    def of(cls, images: Images) -> Seen:
        encoder = load_encoder("bundled")
        others = {name: np.stack([view(image) for image in images]) for name, view in VIEWS.items()}
        return cls({"encoder": encoder.embed(images), **others})

    def spread(self, view: str) -> float:
        """Root mean squared distance to the mean."""
        return float(np.sqrt(self.by_view[view].var(axis=0).sum()))

    def join(self, views: Sequence[str], public: Seen) -> np.ndarray:
        """One vector per image, weighed so that of public images' spread the views have a quarter."""
        whole_share = SHARE if views else 0.0
        shares = {"encoder": 1 - whole_share, **dict.fromkeys(views, whole_share / max(len(views), 1))}
        parts = [self.by_view[name] * share**0.5 / public.spread(name) for name, share in shares.items()]
        return np.concatenate(parts, axis=1)


def trial(
    rows: np.ndarray, targets: np.ndarray, frame: Frame, events: Events, seed: int
) -> tuple[float, float]:
    """Accuracy and purity of one draw of shots and noise, %."""
    draw = Draw.of(targets, seed)
    labels = tuple(f"{place}" for place in range(targets.max() + 1))
    pools = (rows[draw.unlabelled],) * len(labels)
    scene = SelectionInput(labels, pools, PICKED, SHOTS, 1, 0, seed, "replace-one", 0.0, frame)
    private = PrivateEmbeddings(rows[draw.shots], targets[draw.shots], np.arange(len(draw.shots)))
    found = dict(Means().measure(private, scene, events, SeededNoise(seed)))
    points = project(rows[draw.test], found["centre"], found["axes"])
    nearest = np.square(points[:, None] - means_of(found)[None]).sum(axis=2).argmin(axis=1)
    right = [
        targets[draw.unlabelled[picked]] == target for target, picked in enumerate(Means().pick(found, scene))
    ]
    return 100 * float((nearest == targets[draw.test]).mean()), 100 * float(np.mean(right))


def figures(name: str, public: Seen, seeds: int) -> Row:
    """All rows of one set."""
    records = whole(name)
    seen = Seen.of([image for image in records.items if image is not None])
    drawn = {
        (views, kind): _draw(seen, records.targets, public, views, events, seeds)
        for views in ROWS
        for kind, events in KINDS.items()
    }
    rows = [{"views": ["encoder", *views], **_spell(views, drawn)} for views in ROWS]
    return {"set": name, "role": SETS[name].role, "seeds": seeds, "rows": rows}


def _draw(
    seen: Seen, targets: np.ndarray, public: Seen, views: Sequence[str], events: Events, seeds: int
) -> np.ndarray:
    """Accuracy and purity of each draw, %, ``(seeds, 2)``."""
    rows, frame = seen.join(views, public), Frame.of(public.join(views, public))
    return np.array([trial(rows, targets, frame, events, seed) for seed in range(seeds)])


def _spell(views: tuple[str, ...], drawn: dict[tuple[tuple[str, ...], str], np.ndarray]) -> Row:
    """Means and halves of 95 % intervals of a row, and of its differences to the encoder alone."""
    told: Row = {}
    for kind in KINDS:
        found, alone = drawn[views, kind], drawn[(), kind]
        for column, what in enumerate(("accuracy", "purity")):
            told[f"{what} {kind}"] = interval(found[:, column].tolist())
            told[f"{what} {kind}, difference"] = interval((found - alone)[:, column].tolist())
    return told


def page(found: Sequence[Row]) -> str:
    """Accuracy and purity under the guarantee, set by set."""
    parts = [HEADER.format(seeds=max(row["seeds"] for row in found))]
    for what in ("accuracy", "purity"):
        heads = ["set", "role", "encoder alone", *("+ " + " + ".join(views) for views in ROWS[1:])]
        parts += [f"## {what.capitalize()}, %\n", table(heads, (_line(row, what) for row in found))]
    return "\n".join(parts)


def _line(row: Row, what: str) -> list[str]:
    """A set: the encoder alone, then what each further view adds."""
    alone, *others = row["rows"]
    mean, half = alone[f"{what} released"]
    added = [each[f"{what} released, difference"] for each in others]
    return [
        *(SETS[row["set"]].title, row["role"], f"{mean:.1f} ± {half:.1f}"),
        *(f"{more:+.1f} ± {width:.1f}" for more, width in added),
    ]


def sample(folder: Path, count: int, seed: int = 1) -> list[Image.Image]:
    """Some images of a folder with ``images.npy``, uint8 ``(n, side, side, 3)``."""
    stored = np.load(folder / "images.npy", mmap_mode="r")
    return [
        Image.fromarray(stored[k])
        for k in np.random.default_rng(seed).choice(len(stored), count, replace=False)
    ]


def main() -> None:
    """Measure what the JSON file lacks, and write both files."""
    parser = parser_of(__doc__)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--rendered", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    names = [name for name in by_role() if not name.startswith(("digits", "marks")) and available(name)]
    if not names:
        sys.exit("no set is here: PCEVOLVE_BENCH_DATA names their folder")
    public = Seen.of(sample(args.public, 4000) + sample(args.rendered, 1000))

    def missing(known: Sequence[Row]) -> list[str]:
        return [name for name in names if name not in {row["set"] for row in known}]

    found = resume(args.out / "views.json", missing, lambda name: figures(name, public, args.seeds))
    (args.out / "views.md").write_text(page(found))


HEADER = """# What a second view is worth

Written by `python -m benchmarks.views`, which says how: a release of class means through the bundled encoder alone,
and through the encoder beside a power spectrum, colour or a thumbnail, which get a quarter of the vector's spread
together. Ten shots per class, ε = 10, δ = 1e-5, replace-one, centre first, the frame of public images, {seeds} draws.
*Accuracy*: of the nearest released mean on held-out real images. *Purity*: of 15 unlabelled real images per class
that are selected, the share of the right class. The encoder alone, mean ± half of a 95 % interval by Student's t, and
what each view adds over the same draws. There is no other judge here: the release itself is what is measured, and no
image is made.

`--encoder bundled+spectrum` is what came of it, for surfaces and textures; `auto` does not choose it (worth.md).
"""

if __name__ == "__main__":
    main()
