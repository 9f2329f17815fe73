"""Draw clothing and everyday items from parametric outlines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from material.appearance import NAMED, Colour, finish, fractal, jitter, luminance
from material.facts import ITEMS, SIZE, Facts, Rng, Sample

Points = list[tuple[float, float]]
Outline = Callable[["_Brush", Rng], None]
CANVAS = 2 * SIZE


class _Brush:
    """Draws in a 0..100 square, stretched by one random factor per axis."""

    def __init__(self, pen: ImageDraw.ImageDraw, rng: Rng, body: Colour, trim: Colour) -> None:
        self._pen, self._body, self._trim = pen, body, trim
        self._sx, self._sy = rng.uniform(0.85, 1.08, 2) * 1.1
        self._dx, self._dy = rng.normal(0, 2, 2) + CANVAS / 2

    def _at(self, points: Points) -> Points:
        return [(self._dx + (x - 50) * self._sx, self._dy + (y - 50) * self._sy) for x, y in points]

    def shape(self, points: Points, trim: bool = False) -> None:
        self._pen.polygon(self._at(points), fill=self._trim if trim else self._body)

    def mirror(self, half: Points, trim: bool = False) -> None:
        """Fill an outline that is symmetric about x = 50; ``half`` is its left side."""
        self.shape([*half, *[(100 - x, y) for x, y in reversed(half)]], trim)

    def oval(self, x0: float, y0: float, x1: float, y1: float, trim: bool = False) -> None:
        (a, b), (c, d) = self._at([(x0, y0), (x1, y1)])
        self._pen.ellipse((a, b, c, d), fill=self._trim if trim else self._body)

    def line(self, points: Points, width: int = 3, trim: bool = True) -> None:
        self._pen.line(self._at(points), fill=self._trim if trim else self._body, width=width, joint="curve")


def draw_item(rng: Rng, item: str | None = None) -> Sample:
    """Render a random (or the given) item, grey on black or in colour."""
    item = item or str(rng.choice(ITEMS))
    ink, body, ground, back = _palette(rng)
    shade = rng.uniform(0.5, 0.75) if luminance(body) > 60 else 1.8
    trim: Colour = (int(body[0] * shade), int(body[1] * shade), int(body[2] * shade))
    image = Image.new("RGB", (CANVAS, CANVAS), back)
    _OUTLINE[item](_Brush(ImageDraw.Draw(image), rng, body, trim), rng)
    image = image.rotate(rng.normal(0, 3.5), Image.Resampling.BILINEAR, fillcolor=back).reduce(2)
    pixels = np.asarray(image, np.float32)
    covered = np.abs(pixels - np.asarray(back)).max(-1, keepdims=True) > 12
    pixels = pixels * (1 + covered * rng.uniform(0, 0.25) * fractal(rng, 3, 3)[..., None])
    if rng.random() < 0.2:
        stripes = np.sin(np.arange(SIZE) * 2 * np.pi / rng.uniform(5, 10)) > 0
        pixels = pixels * (1 - 0.3 * covered * stripes[:, None, None])
    coarse = rng.random() < 0.2
    cells = 28 if coarse else SIZE
    blur = float(rng.uniform(0.3, 0.8)) if rng.random() < 0.2 else 0.0
    picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    picture = finish(picture, blur, cells, float(rng.uniform(0, 4)), rng)
    light = luminance(body) > luminance(back)
    return Sample(picture, Facts("item", "item", item, ink, ground, light, blur=blur, cells=cells))


def _palette(rng: Rng) -> tuple[str, Colour, str, Colour]:
    if rng.random() < 0.4:
        tone = int(rng.uniform(90, 240))
        return "grey", (tone, tone, tone), "black", (3, 3, 3)
    names = list(NAMED)
    while True:
        ink = str(rng.choice(names))
        ground = str(rng.choice(["white", "white", "grey", "black", "yellow", "blue"]))
        body, back = jitter(NAMED[ink], rng), jitter(NAMED[ground], rng, 6)
        if abs(luminance(body) - luminance(back)) > 50:
            return ink, body, ground, back


def _tshirt(b: _Brush, rng: Rng) -> None:
    sleeve, hem = rng.uniform(38, 48), rng.uniform(82, 94)
    b.mirror([(42, 14), (28, 18), (6, sleeve - 6), (18, sleeve + 6), (29, 38), (30, hem)])
    b.oval(41, 9, 59, 9 + rng.uniform(9, 18), trim=True)


def _long_sleeves(b: _Brush, rng: Rng, hem: float) -> None:
    wide = rng.uniform(27, 31)
    b.mirror([(42, 10), (28, 14), (14, 40), (6, 82), (17, 84), (wide - 1, 42), (wide, hem)])
    b.line([(17, 80), (wide, 40)], 2)
    b.line([(83, 80), (100 - wide, 40)], 2)


def _pullover(b: _Brush, rng: Rng) -> None:
    hem = rng.uniform(82, 90)
    _long_sleeves(b, rng, hem)
    b.oval(41, 5, 59, 17, trim=True)
    b.line([(30, hem - 4), (70, hem - 4)], 3)


def _coat(b: _Brush, rng: Rng) -> None:
    _long_sleeves(b, rng, rng.uniform(93, 99))
    b.line([(50, 20), (50, 97)], 4)
    b.shape([(41, 8), (50, 36), (35, 26)], trim=True)
    b.shape([(59, 8), (50, 36), (65, 26)], trim=True)


def _shirt(b: _Brush, rng: Rng) -> None:
    _long_sleeves(b, rng, rng.uniform(84, 92))
    b.shape([(42, 8), (50, 18), (58, 8)], trim=True)
    for y in range(26, 84, int(rng.integers(10, 15))):
        b.oval(48, y, 52, y + 4, trim=True)


def _trousers(b: _Brush, rng: Rng) -> None:
    leg, flare = rng.uniform(10, 14), rng.uniform(-2, 5)
    b.shape(
        [
            (33, 6),
            (67, 6),
            (72 + flare, 96),
            (72 + flare - leg, 96),
            (50, 36),
            (28 - flare + leg, 96),
            (28 - flare, 96),
        ]
    )
    b.line([(33, 11), (67, 11)], 3)
    b.line([(50, 11), (50, 36)], 2)


def _dress(b: _Brush, rng: Rng) -> None:
    waist, flare = rng.uniform(38, 44), rng.uniform(14, 32)
    b.mirror([(44, 12), (40, 4), (35, 4), (36, 26), (waist, 44), (flare, 96)])
    b.line([(waist, 44), (100 - waist, 44)], 4)


def _bag(b: _Brush, rng: Rng) -> None:
    top, side = rng.uniform(36, 46), rng.uniform(10, 18)
    rise = rng.uniform(8, 22)
    b.line([(34, top), (38, rise), (62, rise), (66, top)], 5, trim=False)
    b.mirror([(side + 4, top), (side, 86)])
    b.line([(side + 2, top + 16), (98 - side, top + 16)], 3)
    b.oval(46, top + 12, 54, top + 20, trim=True)


def _sneaker(b: _Brush, rng: Rng) -> None:
    rise = rng.uniform(36, 44)
    b.shape([(6, rise), (26, rise + 2), (36, rise + 8), (60, 56), (86, 62), (96, 72), (95, 78), (5, 78)])
    b.shape([(4, 76), (96, 76), (95, 84), (5, 84)], trim=True)
    for x in range(34, 60, 7):
        b.line([(x, rise + 18), (x + 7, rise + 10)], 3)


def _boot(b: _Brush, rng: Rng) -> None:
    top, shaft = rng.uniform(8, 18), rng.uniform(44, 54)
    b.shape([(16, top), (shaft, top), (shaft + 2, 54), (80, 64), (92, 74), (92, 82), (14, 82)])
    b.shape([(14, 81), (93, 81), (93, 87), (40, 87), (38, 92), (14, 92)], trim=True)
    b.line([(17, top + 5), (shaft, top + 5)], 3)


def _sandal(b: _Brush, rng: Rng) -> None:
    heel = rng.uniform(0, 22)
    b.shape(
        [
            (6, 72 - heel),
            (30, 72 - heel / 2),
            (60, 80),
            (95, 80),
            (95, 86),
            (56, 86),
            (14, 79 - heel / 2),
            (12, 88),
            (6, 88),
        ]
    )
    for x in (28, 48, 68)[int(rng.integers(2)) :]:
        b.line([(x - 8, 78 - heel / 3), (x + 2, 56), (x + 14, 80)], 5, trim=False)


def _hat(b: _Brush, rng: Rng) -> None:
    crown, brim = rng.uniform(26, 36), rng.uniform(2, 12)
    top = rng.uniform(20, 34)
    b.oval(brim, 60, 100 - brim, 80)
    b.mirror([(crown + 6, top), (crown, top + 8), (crown - 4, 70)])
    b.mirror([(crown - 3, 58), (crown - 4, 67)], trim=True)


def _cup(b: _Brush, rng: Rng) -> None:
    taper, top = rng.uniform(0, 8), rng.uniform(20, 32)
    b.line([(70, top + 14), (88, top + 16), (88, 62), (66, 70)], 7, trim=False)
    b.shape([(20, top), (74, top), (74 - taper, 84), (20 + taper, 84)])
    b.oval(20, top - 6, 74, top + 6, trim=True)


def _bottle(b: _Brush, rng: Rng) -> None:
    neck, body, shoulder = rng.uniform(42, 45), rng.uniform(28, 36), rng.uniform(34, 46)
    b.mirror([(neck, 6), (neck, shoulder - 12), (body, shoulder), (body, 94)])
    b.mirror([(neck - 1, 4), (neck - 1, 11)], trim=True)
    b.mirror([(body, 56), (body, 78)], trim=True)


def _chair(b: _Brush, rng: Rng) -> None:
    seat, back = rng.uniform(50, 58), rng.uniform(26, 32)
    b.line([(back, 8), (back, 94)], 6, trim=False)
    b.line([(back + 38, seat), (back + 40, 94)], 6, trim=False)
    b.line([(back + 10, seat), (back + 12, 86)], 4)
    b.line([(back + 48, seat - 4), (back + 50, 86)], 4)
    b.shape(
        [
            (back - 2, seat),
            (back + 12, seat - 8),
            (back + 52, seat - 8),
            (back + 42, seat + 4),
            (back - 2, seat + 4),
        ]
    )
    b.shape([(back - 3, 8), (back + 12, 5), (back + 12, 34), (back - 3, 38)])


_OUTLINE: dict[str, Outline] = {
    "t-shirt": _tshirt,
    "trousers": _trousers,
    "pullover": _pullover,
    "dress": _dress,
    "coat": _coat,
    "shirt": _shirt,
    "bag": _bag,
    "sneaker": _sneaker,
    "boot": _boot,
    "sandal": _sandal,
    "hat": _hat,
    "cup": _cup,
    "bottle": _bottle,
    "chair": _chair,
}
