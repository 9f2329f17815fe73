"""Render one character in a font or as pen strokes, with the wear and tear of real marks."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from material.appearance import NAMED, Colour, finish, fractal, jitter, luminance
from material.facts import DIGITS, LETTERS, SIZE, Facts, Rng, Sample
from material.fonts import font_paths, load
from material.skeletons import strokes_of

CANVAS = 2 * SIZE
_KINDS = ("serif", "sans", "mono", "hand", "pen")
_KIND_SHARES = (0.16, 0.2, 0.08, 0.2, 0.36)


def draw_glyph(rng: Rng, character: str | None = None, held_out: bool = False) -> Sample:
    """Render a random (or the given) character.

    Args:
        rng: Source of every random choice.
        character: One of ``CHARACTERS``; ``None`` draws digits as often as letters.
        held_out: Use only fonts that training never saw (and no pen strokes).
    """
    kind = str(rng.choice(_KINDS, p=_KIND_SHARES))
    if held_out and kind == "pen":
        kind = "hand"
    if character is None:
        character = str(rng.choice(list(DIGITS if rng.random() < 0.5 else LETTERS)))
    if kind == "pen":
        mask, stroke, bold = _pen_mask(character, rng)
    else:
        mask, stroke, bold = _font_mask(kind, character, held_out, rng)
    mask = _warp(mask, rng, loose=kind in ("hand", "pen"))
    return _ink(mask, Facts("glyph", kind, character, "black", "white", False, stroke, bold=bold), rng)


def _font_mask(kind: str, character: str, held_out: bool, rng: Rng) -> tuple[Image.Image, float, bool]:
    paths = font_paths(kind, held_out)
    path = paths[int(rng.integers(len(paths)))] if paths else None
    font = load(path)
    left, top, right, bottom = font.getbbox(character)
    glyph = Image.new("L", (max(int(right - left), 4) + 4, max(int(bottom - top), 4) + 4), 0)
    ImageDraw.Draw(glyph).text((2 - left, 2 - top), character, fill=255, font=font)
    mask = _place(glyph, rng)
    thick = int(rng.choice([0, 0, 0, 1, 2])) if kind == "hand" else int(rng.choice([0, 0, 0, 0, 1]))
    if thick:
        mask = mask.filter(ImageFilter.MaxFilter(2 * thick + 1))
    bold = path is not None and any(word in path.stem for word in ("Bold", "Black", "Heavy"))
    return mask, _stroke_width(mask), bold


def _place(glyph: Image.Image, rng: Rng) -> Image.Image:
    """Scale the glyph to 50-85 % of the canvas height and put it near the centre."""
    height = CANVAS * rng.uniform(0.5, 0.85)
    scale = min(height / glyph.height, CANVAS * 0.85 / glyph.width)
    wide = max(int(glyph.width * scale * rng.uniform(0.85, 1.15)), 3)
    tall = max(int(glyph.height * scale), 3)
    mask = Image.new("L", (CANVAS, CANVAS), 0)
    x, y = ((CANVAS - side) // 2 + int(rng.normal(0, 4)) for side in (wide, tall))
    mask.paste(glyph.resize((wide, tall), Image.Resampling.BILINEAR), (x, y))
    return mask


def _stroke_width(mask: Image.Image) -> float:
    """Estimate the line width as a share of the side: twice the area over the outline's length."""
    area = float(np.asarray(mask, np.float32).mean())
    eroded = mask.filter(ImageFilter.MinFilter(3))
    rim = area - float(np.asarray(eroded, np.float32).mean())
    return min(2 * area / max(rim, 1e-3) / CANVAS, 0.5)


def _pen_mask(character: str, rng: Rng) -> tuple[Image.Image, float, bool]:
    width = float(rng.choice([rng.uniform(5, 9), rng.uniform(9, 15), rng.uniform(15, 22)]))
    wide = CANVAS * rng.uniform(0.3, 0.58)
    tall = CANVAS * rng.uniform(0.5, 0.78)
    x0 = (CANVAS - wide) / 2 + rng.normal(0, 4)
    y0 = (CANVAS - tall) / 2 + rng.normal(0, 4)
    wobble = rng.uniform(0.015, 0.055)
    moved: dict[tuple[float, float], tuple[float, float]] = {}
    mask = Image.new("L", (CANVAS, CANVAS), 0)
    pen = ImageDraw.Draw(mask)
    for stroke in strokes_of(character, int(rng.integers(60))):
        for point in stroke:
            # Strokes that share a point keep sharing it, so that corners stay closed.
            moved.setdefault(point, (point[0] + rng.normal(0, wobble), point[1] + rng.normal(0, wobble)))
        curve = _smooth([moved[p] for p in stroke])
        _brush(pen, [(x0 + x * wide, y0 + y * tall) for x, y in curve], width, rng)
    return mask, width / CANVAS, width > 14


def _smooth(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a Catmull-Rom curve through the points."""
    if len(points) < 3:
        return points
    p = np.asarray([points[0], *points, points[-1]])
    curve: list[tuple[float, float]] = []
    for i in range(1, len(p) - 2):
        for t in (0.0, 0.2, 0.4, 0.6, 0.8):
            a, b, c, d = p[i - 1], p[i], p[i + 1], p[i + 2]
            q = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2)
            q = q + 0.5 * (3 * b - a - 3 * c + d) * t**3
            curve.append((float(q[0]), float(q[1])))
    return [*curve, points[-1]]


def _brush(pen: ImageDraw.ImageDraw, path: list[tuple[float, float]], width: float, rng: Rng) -> None:
    """Draw a round-capped line whose pressure varies a little."""
    pressure = width * (1 + rng.normal(0, 0.08))
    pen.line(path, fill=255, width=max(int(pressure), 2))
    for x, y in path:
        r = pressure / 2 * rng.uniform(0.92, 1.05)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=255)


def _warp(mask: Image.Image, rng: Rng, loose: bool) -> Image.Image:
    """Rotate, shear and bend the mask; handwriting bends more."""
    angle = np.deg2rad(rng.normal(0, 6 if loose else 4))
    shear = rng.normal(0.0, 0.16 if loose else 0.07)
    cos, sin, half = np.cos(angle), np.sin(angle), CANVAS / 2
    a, b, d, e = cos, sin + shear, -sin, cos
    tilt = rng.normal(0, 0.0008, 2)
    c, f = half - a * half - b * half, half - d * half - e * half
    mask = mask.transform(
        (CANVAS, CANVAS), Image.Transform.PERSPECTIVE, (a, b, c, d, e, f, *tilt), Image.Resampling.BILINEAR
    )
    if rng.random() < (0.7 if loose else 0.15):
        mask = _bend(mask, rng, 3.4 if loose else 1.5)
    return mask


def _bend(mask: Image.Image, rng: Rng, amount: float) -> Image.Image:
    """Elastic distortion: a 4x4 mesh whose inner corners move by ``amount`` pixels."""
    step = CANVAS // 4
    shift = rng.normal(0, amount, (5, 5, 2))
    mesh = []
    for row in range(4):
        for col in range(4):
            box = (col * step, row * step, (col + 1) * step, (row + 1) * step)
            corners = ((row, col), (row + 1, col), (row + 1, col + 1), (row, col + 1))
            quad = [v for r, k in corners for v in (k * step + shift[r, k, 0], r * step + shift[r, k, 1])]
            mesh.append((box, tuple(quad)))
    return mask.transform((CANVAS, CANVAS), Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)


def _colours(rng: Rng) -> tuple[str, Colour, str, Colour]:
    """Choose ink and ground with enough contrast; plain black and white are most frequent."""
    roll = rng.random()
    if roll < 0.36:
        ink, ground = "black", "white"
    elif roll < 0.74:
        ink, ground = "white", "black"
    else:
        names = list(NAMED)
        while True:
            ink, ground = (str(n) for n in rng.choice(names, 2, replace=False))
            if abs(luminance(NAMED[ink]) - luminance(NAMED[ground])) > 75:
                break
    plain = roll < 0.74
    tones = [jitter(NAMED[n], rng, 4 if plain else 14) for n in (ink, ground)]
    if plain:  # neutral greys near the ends of the scale
        tones = [(t[0], t[0], t[0]) for t in tones]
    return ink, tones[0], ground, tones[1]


def _ink(mask: Image.Image, facts: Facts, rng: Rng) -> Sample:
    """Colour the mask and degrade the result."""
    ink, ink_tone, ground, ground_tone = _colours(rng)
    loose = facts.kind in ("hand", "pen")
    alpha = np.asarray(mask.reduce(2), np.float32)[..., None] / 255
    if rng.random() < 0.25:
        alpha = alpha * (1 - 0.25 * np.clip(fractal(rng, 3, 3), 0, 1)[..., None])
    pixels = np.asarray(ground_tone) * (1 - alpha) + np.asarray(ink_tone) * alpha
    if rng.random() < 0.15:
        pixels = pixels + 10 * fractal(rng, 2, 2)[..., None]
    coarse = rng.random() < (0.36 if loose else 0.12)
    cells = int(rng.choice([8, 8, 8, 10, 12, 16])) if coarse else SIZE
    blur = float(rng.uniform(0.4, 1.6)) if rng.random() < 0.25 else 0.0
    noise = float(rng.uniform(2, 8)) if rng.random() < 0.15 else 0.0
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image = finish(image, blur, cells, noise, rng)
    light = luminance(ink_tone) > luminance(ground_tone)
    return Sample(
        image,
        Facts("glyph", facts.kind, facts.label, ink, ground, light, facts.stroke, blur, cells, facts.bold),
    )
