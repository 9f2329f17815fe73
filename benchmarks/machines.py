"""How much embeddings of the same pictures differ between machines: what an audit may forgive rests on it.

    python benchmarks/machines.py save here.npz
    OPENBLAS_CORETYPE=Nehalem python benchmarks/machines.py save nehalem.npz    # another processor's kernels
    python benchmarks/machines.py compare here.npz nehalem.npz

``save`` embeds 300 made-up pictures by the bundled encoders. ``compare`` prints the largest difference of an embedding
as a share of its norm, beside the share that an audit forgives, and whether the frames made of them are believed.
"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image

from pcevolve.public.encoders import BUNDLED, JOINED, SPECTRAL, load_encoder
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.geometry.ruler import MACHINE_SHARE

SIDE, PICTURES = 96, 300


def draw(number: int) -> Image.Image:
    """A disc on waves, under noise."""
    random = np.random.default_rng(number)
    across, down = np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE))
    waves = [np.sin(a * across + b) * np.cos(c * down) for a, b, c in random.uniform(2, 20, (3, 3))]
    pixels = 120 + 80 * np.stack(waves, axis=2)
    middle, radius = random.uniform(0.2, 0.8, 2), random.uniform(0.05, 0.3)
    pixels[np.hypot(across - middle[0], down - middle[1]) < radius] = random.uniform(0, 255, 3)
    noisy = pixels + random.normal(0, random.uniform(0, 30), pixels.shape)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def save(path: str) -> None:
    """Embed the pictures here."""
    pictures = [draw(number) for number in range(PICTURES)]
    made = {name: load_encoder(name).embed(pictures) for name in (BUNDLED, SPECTRAL, JOINED)}
    np.savez(path, allow_pickle=False, **made)


def compare(path: str, *others: str) -> None:
    """Compare what other machines saved with what one did."""
    own = np.load(path)
    for name in own.files:
        public, norms = load_encoder(name).frame, np.linalg.norm(own[name], axis=1)
        assert public is not None
        for other in others:
            theirs = np.load(other)[name]
            share = float((np.linalg.norm(theirs - own[name], axis=1) / norms).max())
            print(f"{name}, {other}: at most {share:.1e} of the norm, and {MACHINE_SHARE:.0e} is forgiven")
            for count in (20, 100, PICTURES):
                frames = [Frame.join(public, rows[:count]) for rows in (own[name], theirs)]
                believed = frames[0].resembles(frames[1].centre, frames[1].axes)
                same = frames[0].equals(frames[1].centre, frames[1].axes)
                print(f"  frame of {count}: {'the same' if same else 'believed' if believed else 'REFUSED'}")


if __name__ == "__main__":
    {"save": save, "compare": compare}[sys.argv[1]](*sys.argv[2:])
