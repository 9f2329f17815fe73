"""What can be used as an image, and when two are one."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pcevolve.evolution import Pool
from pcevolve.public.release import Candidate
from pcevolve.usability import ClassUsability, Usability
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


def test_images_are_the_same_of_which_all_but_a_line_of_fields_differ_by_two_levels_at_most():
    ramp = np.tile(np.arange(0, 160, 10), (16, 1))[..., None].repeat(3, axis=2)

    def differing(fields: int, levels: int) -> int:
        """How many different images there are of one and another, which is off in so many fields."""
        off = ramp.copy().reshape(256, 3)
        off[:fields, 1] += levels
        return look_at(save(ramp), save(off.reshape(16, 16, 3))).different

    buffer = io.BytesIO()
    Image.fromarray(ramp.astype(np.uint8)).save(buffer, "PNG", compress_level=0)
    assert buffer.getvalue() != save(ramp)
    assert look_at(save(ramp), buffer.getvalue()).different == 1, "other bytes of the same pixels"
    assert differing(fields=256, levels=2) == 1
    assert differing(fields=16, levels=90) == 1
    assert differing(fields=17, levels=3) == 2


def test_a_placeholder_is_the_same_whatever_request_s_id_is_drawn_on_it():
    def placeholder(number: int) -> bytes:
        image = Image.new("RGB", (256, 256), (128, 128, 128))
        drawn = ImageDraw.Draw(image)
        drawn.text((20, 90), "Content blocked by safety filter", fill=(255, 255, 255))
        drawn.text((20, 120), hashlib.sha1(str(number).encode()).hexdigest(), fill=(255, 255, 255))
        return save(np.asarray(image))

    found = look_at(*map(placeholder, range(8)))
    assert (found.usable, found.different, found.enough) == (8, 1, False)


@pytest.mark.parametrize(("side", "levels", "different"), [(4, 3, 2), (4, 2, 1), (1, 32, 1), (1, 48, 2)])
def test_what_is_compared_are_the_means_of_sixteen_fields_a_side(side: int, levels: int, different: int):
    ramp = np.tile(np.arange(0, 192, 3), (64, 1))[..., None].repeat(3, axis=2)
    off = ramp.copy()
    for field in range(17):  # one more than may differ
        row, column = 4 * (field // 16), 4 * (field % 16)
        off[row : row + side, column : column + side] += levels
    assert look_at(save(ramp), save(off)).different == different
