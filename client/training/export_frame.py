"""Write the public frame of an encoder: what its embeddings of public images look like, before any run.

The file (safetensors, float32) holds, for the encoder's embeddings of photographs and, one for four of them, rendered
images, drawn by ``--seed`` from the material that the encoder was trained on:

- ``centre`` ``(d,)``: their mean;
- ``axes`` ``(d, 32)``: their first principal axes as columns, orthonormal but for rounding;
- ``variances`` ``(32,)``: their variances along these axes;
- ``radii`` ``(32,)``: at place k - 1 the median norm of their coordinates on the first k axes.

Centre and axes are rounded as ``public.geometry.frame`` rounds the frame of candidates; variances and radii to the
nearest 1/512 of the power of two below each. The file's metadata name the weights that it belongs to: ``weights``,
SHA-256.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.numpy import save_file

from pcevolve.public.encoders import BUNDLED, BUNDLED_FRAMES, Encoder, load_encoder, named_weights
from pcevolve.public.geometry.frame import STEP, Frame, power_below, round_to

AXES = 32


def draw(folder: Path, count: int, seed: int) -> list[Image.Image]:
    """``count`` images of a folder with ``images.npy``, uint8 ``(n, side, side, 3)``."""
    stored = np.load(folder / "images.npy", mmap_mode="r")
    rows = np.random.default_rng(seed).choice(len(stored), count, replace=False)
    return [Image.fromarray(stored[row]) for row in np.sort(rows)]


def statistics(embeddings: np.ndarray) -> dict[str, np.ndarray]:
    """The frame of embeddings, float64 ``(n, d)``, as the file holds it."""
    frame = Frame.of(embeddings, AXES)
    norms = np.sqrt((frame.points(embeddings) ** 2).cumsum(axis=1))
    values = {
        "centre": frame.centre,
        "axes": frame.axes,
        "variances": round_numbers(frame.variances),
        "radii": round_numbers(np.median(norms, axis=0)),
    }
    # In C order: the file format writes an array's memory as it lies.
    return {name: np.ascontiguousarray(value, np.float32) for name, value in values.items()}


def round_numbers(values: np.ndarray) -> np.ndarray:
    """Positive numbers to nine binary digits."""
    return round_to(values, STEP * power_below(values))


def frame_of(encoder: Encoder, public: Path, rendered: Path, count: int, seed: int) -> dict[str, np.ndarray]:
    """Embed ``count`` photographs and a quarter as many rendered images, and describe them."""
    images = draw(public, count, seed) + draw(rendered, count // 4, seed)
    return statistics(encoder.embed(images))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--public", type=Path, required=True, help="folder written by public_images.py")
    parser.add_argument("--rendered", type=Path, required=True, help="folder written by render.py")
    parser.add_argument("--out", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--encoder", choices=BUNDLED_FRAMES, default=BUNDLED)
    parser.add_argument("--weights", help="of the bundled encoder; without it, those that are installed")
    parser.add_argument("--count", type=int, default=4000, help="photographs")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    encoder = load_encoder(args.encoder, args.weights)
    frame = frame_of(encoder, args.public, args.rendered, args.count, args.seed)
    save_file(frame, args.out, {"weights": str(named_weights(args.encoder, args.weights))})


if __name__ == "__main__":
    main()
