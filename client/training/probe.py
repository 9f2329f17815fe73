"""How much an encoder sees: ten real shots per class, with and without privacy (evaluation only).

Every set is real and none was trained on. For each encoder and draw of shots, tested on all other images:

- ``linear``: logistic regression on the embeddings of the shots, no privacy;
- ``means``: the nearest class mean of the shots in the frame below, no privacy;
- ``one step``: the same after one Gaussian release of the class sums, clipped to R round the public centre;
- ``two steps``: a fifth of the budget (in 1/z^2) on the pooled sum of all classes, clipped to R, which gives a centre;
  the rest on the sums of deviations from it, clipped to R/2.

The frame is public: centre and 16 principal axes of the encoder's embeddings of photographs that it may have been
trained on, R the median norm of their coordinates. Both releases are (10, 1e-5)-DP under replace-one, and noise is
seeded, because this is a measurement. Embeddings of ONNX encoders need onnxruntime.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from export_frame import draw
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.encoders import Encoder, load_encoder
from pcevolve.public.encoders.singly import centre_square
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.media.images.decoding import set_on_black
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors.sums import clip

AXES = 16
POOLED_SHARE = 0.2  # of the budget in 1/z^2, for the pooled sum
BUDGET = Budget(Fraction(10), 1e-5)
STEEL = ("crazing", "patches", "scratches")
MEASURES = ("linear", "means", "one step", "two steps")
_PHOTOGRAPHS = 2000  # of which the frame is made

Images = list[Image.Image]
Embed = Callable[[Images], np.ndarray]


@dataclass(frozen=True)
class RealSet:
    """Real images and the class of each, int64 ``(n,)``."""

    images: Images
    targets: np.ndarray


def real_sets(steel: Path | None, public: Path | None) -> dict[str, RealSet]:
    """The sets that may be tuned on: digits always, the others where their folder is given."""
    digits = load_digits()
    scans = [set_on_black(levels, 16.0) for levels in digits.images]
    few = np.flatnonzero(np.isin(digits.target, (3, 5, 8)))
    sets = {
        "digits 3/5/8": RealSet([scans[i] for i in few], np.searchsorted((3, 5, 8), digits.target[few])),
        "digits 0-9": RealSet(scans, digits.target),
    }
    if steel is not None:
        sets["steel"] = _folders([steel / name for name in STEEL])
    if public is not None:
        for domain in ("chest x-ray", "blood smear"):
            sets[domain] = _folders(sorted((public / domain).iterdir()), lambda number: number % 3 == 0)
        sets["machine part"] = _folders(sorted((public / "sa" / "machine part surface").iterdir()))
    return sets


def _folders(folders: Iterable[Path], wanted: Callable[[int], bool] = lambda number: True) -> RealSet:
    images, targets = [], []
    for target, folder in enumerate(folders):
        for path in sorted(folder.glob("*.jpg")):
            if not path.stem.isdigit() or wanted(int(path.stem)):
                images.append(Image.open(path).convert("RGB"))
                targets.append(target)
    return RealSet(images, np.array(targets))


def onnx_embed(path: Path) -> Embed:
    """Embeddings of a MobileNetV2 (RGB in -1..1) or a SqueezeNet (BGR less its mean), by the graph's input name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    given = session.get_inputs()[0].name

    def one(image: Image.Image) -> np.ndarray:
        if given == "rgb_pm1":
            pixels = np.asarray(_resize(image, 224), np.float32) / 127.5 - 1
        else:
            pixels = np.asarray(_resize(image, 227), np.float32)[..., ::-1] - np.float32(
                (103.939, 116.779, 123.68)
            )
        row: np.ndarray = session.run(None, {given: np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])})[0]
        return row.reshape(-1).astype(np.float64)

    return lambda images: np.stack([one(image) for image in images])


def _resize(image: Image.Image, side: int) -> Image.Image:
    return centre_square(image).resize((side, side), Image.Resampling.BILINEAR)


def encoders(names: list[str], onnx: list[Path]) -> dict[str, Embed]:
    """Encoders by name; of ONNX files, by the folder that they lie in."""
    ours = {name: _of(load_encoder(name)) for name in names}
    return ours | {path.parent.name.partition("_")[0]: onnx_embed(path) for path in onnx}


def _of(encoder: Encoder) -> Embed:
    return encoder.embed


def shots_of(targets: np.ndarray, shots: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the shots, by class, and of all others."""
    by_class = [rng.permutation(np.flatnonzero(targets == c))[:shots] for c in range(targets.max() + 1)]
    rows = np.concatenate(by_class)
    return rows, np.setdiff1d(np.arange(len(targets)), rows)


def linear(train: np.ndarray, targets: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Classes of ``test`` by a linear head on ``train``, in units of the shots' own spread."""
    mean, scale = train.mean(axis=0), train.std() + 1e-12
    head = LogisticRegression(max_iter=1000).fit((train - mean) / scale, targets)
    return np.asarray(head.predict((test - mean) / scale))


def nearest(means: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Class of the nearest mean."""
    return np.asarray(((test[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1))


def class_sums(points: np.ndarray, targets: np.ndarray, classes: int) -> np.ndarray:
    """float64 ``(classes, k)``."""
    return np.array([points[targets == c].sum(axis=0) for c in range(classes)])


def one_step(
    points: np.ndarray, targets: np.ndarray, radius: float, shots: int, z: float, rng: np.random.Generator
) -> np.ndarray:
    """Means of points clipped round the public centre; a changed unit moves the sums by at most ``2 * radius``."""
    classes = int(targets.max()) + 1
    sums = class_sums(clip(points, radius), targets, classes)
    return np.asarray((sums + rng.normal(0, z * 2 * radius, sums.shape)) / shots)


def two_steps(
    points: np.ndarray, targets: np.ndarray, radius: float, shots: int, z: float, rng: np.random.Generator
) -> np.ndarray:
    """Means round a centre that is released first.

    A changed unit moves the pooled sum by at most ``2 * radius``. It moves the sums of deviations, clipped to half the
    radius, by at most ``radius``: within a class twice half of it, between two classes less.
    """
    classes = int(targets.max()) + 1
    pooled = clip(points, radius).sum(axis=0) + rng.normal(
        0, z / POOLED_SHARE**0.5 * 2 * radius, points.shape[1]
    )
    centre = pooled / (shots * classes)
    sums = class_sums(clip(points - centre, radius / 2), targets, classes)
    return np.asarray(
        centre + (sums + rng.normal(0, z / (1 - POOLED_SHARE) ** 0.5 * radius, sums.shape)) / shots
    )


def measure(
    embeddings: np.ndarray, targets: np.ndarray, frame: Frame, shots: int, draws: int
) -> dict[str, tuple[float, float]]:
    """Mean accuracy and its standard error over draws, by measure."""
    points, z = frame.points(embeddings), float(smallest_noise_multiplier(BUDGET, 1))
    classes, found = int(targets.max()) + 1, []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        rows, others = shots_of(targets, shots, rng)
        given, known, unseen = points[rows], targets[rows], points[others]
        answers = (
            linear(embeddings[rows], known, embeddings[others]),
            nearest(class_sums(given, known, classes) / shots, unseen),
            nearest(one_step(given, known, frame.radius, shots, z, rng), unseen),
            nearest(two_steps(given, known, frame.radius, shots, z, rng), unseen),
        )
        found.append([float(np.mean(answer == targets[others])) for answer in answers])
    values = np.array(found)
    errors = values.std(axis=0, ddof=1) / draws**0.5
    return {
        name: (float(m), float(e)) for name, m, e in zip(MEASURES, values.mean(axis=0), errors, strict=True)
    }


def probe(
    embed: Mapping[str, Embed], sets: Mapping[str, RealSet], photographs: Images, shots: int, draws: int
) -> Iterable[dict[str, Any]]:
    """One line for each encoder and set."""
    for name, encode in embed.items():
        frame = Frame.of(encode(photographs), AXES)
        for title, real in sets.items():
            figures = measure(encode(real.images), real.targets, frame, shots, draws)
            yield {"encoder": name, "set": title, "classes": int(real.targets.max()) + 1, **figures}


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown: a row for each set and encoder, percent and standard error."""
    head = f"| set | encoder | {' | '.join(MEASURES)} |"
    rows = [head, "|---" * (2 + len(MEASURES)) + "|"]
    for title in dict.fromkeys(line["set"] for line in lines):
        for line in lines:
            if line["set"] == title:
                cells = [f"{100 * line[m][0]:.1f} ± {100 * line[m][1]:.1f}" for m in MEASURES]
                rows.append(f"| {title} | {line['encoder']} | {' | '.join(cells)} |")
    return "\n".join(rows)


def save(lines: Iterable[dict[str, Any]], out: Path | None) -> list[dict[str, Any]]:
    """Print each line when it is known, and keep all of them."""
    kept = []
    for line in lines:
        print(json.dumps(line), flush=True)
        kept.append(line)
    if out is not None:
        with out.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("encoder", "set", "classes", "measure", "mean", "error"))
            for line in kept:
                writer.writerows(
                    (line["encoder"], line["set"], line["classes"], m, *line[m]) for m in MEASURES
                )
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--public", type=Path, required=True, help="folder written by public_images.py")
    parser.add_argument("--steel", type=Path, help="folder of steel surfaces, one folder per defect")
    parser.add_argument(
        "--images", type=Path, help="folder with manifest.csv, whose reserved images are sets"
    )
    parser.add_argument("--encoder", action="append", default=[], help="by name; may be repeated")
    parser.add_argument("--onnx", action="append", type=Path, default=[], help="MobileNetV2 or SqueezeNet")
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--csv", type=Path, help="also write the figures here")
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = probe(
        encoders(args.encoder, args.onnx),
        real_sets(args.steel, args.images),
        draw(args.public, _PHOTOGRAPHS, seed=1),
        args.shots,
        args.draws,
    )
    print(table(save(found, args.csv)))


if __name__ == "__main__":
    main()
