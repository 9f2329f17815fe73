"""Candidates of small pools; for tests only."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.loop.usable import ClassUsability
from pcevolve.public.release import Candidate
from support.runs import small_plan


def save(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def population_of(
    *made: bytes, label: str = "cut", iteration: int = 0
) -> tuple[tuple[Candidate, ...], dict[str, bytes]]:
    """Candidates of a class, each in its own place, and what is stored of them."""
    name = f"{label}{iteration}-"
    stored = {f"{name}{place:058d}": data for place, data in enumerate(made)}
    candidates = (
        Candidate(f"{name}{place}", label, iteration, None, digest) for place, digest in enumerate(stored)
    )
    return tuple(candidates), stored


def pool_of(
    *made: bytes, iteration: int = 0, views: dict[int, list[bytes]] | None = None
) -> tuple[Pool, dict]:
    """One class with such candidates."""
    candidates, stored = population_of(*made, iteration=iteration)
    seen = {}
    for place, several in (views or {}).items():
        named = {f"v{place}{number:062d}": data for number, data in enumerate(several, 1)}
        stored |= named
        seen[candidates[place].id] = tuple(Candidate(f"v{each}", "cut", 0, None, each) for each in named)
    return Pool({"cut": candidates}, seen), stored


def look_at(*made: bytes, share: float = 0.25, **more: object) -> ClassUsability:
    pool, stored = pool_of(*made, **more)
    (found,) = Usability(small_plan(labels=("cut",), min_usable=share), stored.__getitem__).of(pool)
    return found


def flat(level: int, spread: int = 0) -> bytes:
    pixels = np.full((16, 16, 3), level)
    pixels[0, 0] += spread
    return save(pixels)
