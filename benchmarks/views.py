"""What a second view beside the encoder's own is worth to a release of class means.

    PCEVOLVE_BENCH_DATA=DIR .venv/bin/python -m benchmarks.views --public PUBLIC --rendered RENDERED [--looked-at-once]

``PUBLIC`` and ``RENDERED`` are folders of ``client/training`` (its README says how they are made); frames of all rows
are of these images. A view is weighed so that a quarter of the spread of public images is its. Ten shots per class,
(10, 1e-5)-DP under replace-one, centre first, or no noise. ``accuracy``: of the nearest released mean, on half of the
images that are not among the shots. ``purity``: of 15 images per class that are selected from the other half,
unlabelled, the share of the right class. Differences are to the encoder alone, over the same draws. One JSON line per
set and row.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.private_sets import available, whole
from benchmarks.release.budget import CENTRE_FIRST, SHOTS, interval
from benchmarks.release.seen import Draw
from benchmarks.split import LOOKED_AT_ONCE, SETS, TUNED_ON
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.encoders import load_encoder
from pcevolve.encoders.pixels import pixel_array
from pcevolve.encoders.spectrum import SIDE, spectrum
from pcevolve.privacy import Event, Events
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.frame import Frame, projected
from pcevolve.selectors.means import Means, means_of

SHARE, PICKED = 0.25, 15
NOISELESS: Events = (Event("gaussian", f"1/{10**9}"),) * len(CENTRE_FIRST)
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
    "spectrum": spectrum,
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

    def joined(self, views: Sequence[str], public: Seen) -> np.ndarray:
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
    scene = Scene(labels, pools, PICKED, SHOTS, 1, 0, seed, "replace-one", 0.0, frame)
    private = PrivateEmbeddings(rows[draw.shots], targets[draw.shots], np.arange(len(draw.shots)))
    found = dict(Means().measure(private, scene, events, SeededNoise(seed)))
    points = projected(rows[draw.test], found["centre"], found["axes"])
    nearest = np.square(points[:, None] - means_of(found)[None]).sum(axis=2).argmin(axis=1)
    right = [
        targets[draw.unlabelled[picked]] == target for target, picked in enumerate(Means().pick(found, scene))
    ]
    return 100 * float((nearest == targets[draw.test]).mean()), 100 * float(np.mean(right))


def figures(name: str, public: Seen, seeds: int) -> Iterator[dict[str, object]]:
    """The rows of one set."""
    records = whole(name)
    seen = Seen.of([image for image in records.items if image is not None])
    alone: dict[str, np.ndarray] = {}
    for views in ROWS:
        rows, frame = seen.joined(views, public), Frame.of(public.joined(views, public))
        found: dict[str, object] = {"set": name, "views": ["encoder", *views], "seeds": seeds}
        for kind, events in (("released", CENTRE_FIRST), ("noise-free", NOISELESS)):
            drawn = np.array([trial(rows, records.targets, frame, events, seed) for seed in range(seeds)])
            alone.setdefault(kind, drawn)
            for column, what in enumerate(("accuracy", "purity")):
                found[f"{what} {kind}"] = interval(drawn[:, column].tolist())
                found[f"{what} {kind}, difference"] = interval((drawn - alone[kind])[:, column].tolist())
        yield found


def sampled(folder: Path, count: int, seed: int = 1) -> list[Image.Image]:
    """Some images of a folder with ``images.npy``, uint8 ``(n, side, side, 3)``."""
    stored = np.load(folder / "images.npy", mmap_mode="r")
    return [
        Image.fromarray(stored[k])
        for k in np.random.default_rng(seed).choice(len(stored), count, replace=False)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--rendered", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--looked-at-once", action="store_true", help="those sets instead of those tuned on")
    args = parser.parse_args()
    public = Seen.of(sampled(args.public, 4000) + sampled(args.rendered, 1000))
    role = LOOKED_AT_ONCE if args.looked_at_once else TUNED_ON
    names = [
        name for name, each in SETS.items() if each.role == role and not name.startswith(("digits", "marks"))
    ]
    for name in filter(available, names):
        for row in figures(name, public, args.seeds):
            print(json.dumps(row), flush=True)
    if not any(map(available, names)):
        sys.exit("no set is here: PCEVOLVE_BENCH_DATA names their folder")


if __name__ == "__main__":
    main()
