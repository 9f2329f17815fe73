"""Render material surfaces, sound or with one defect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from material.appearance import Colour, finish, fractal, jitter, luminance, noise_field, to_image
from material.facts import DEFECTS, MATERIALS, SIZE, Facts, Rng, Sample

Field = np.ndarray
_Y, _X = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)

_TONES: dict[str, tuple[Colour, ...]] = {
    "leather": ((120, 75, 45), (70, 45, 30), (45, 42, 42), (150, 100, 60), (130, 45, 40)),
    "steel": ((165, 168, 172), (140, 143, 148), (190, 192, 195)),
    "fabric": ((70, 90, 140), (160, 60, 60), (190, 180, 160), (90, 120, 80), (110, 110, 115)),
    "wood": ((170, 120, 70), (140, 90, 50), (200, 160, 110)),
    "concrete": ((150, 150, 146), (170, 168, 160), (130, 130, 130)),
    "tile": ((215, 215, 210), (120, 160, 180), (190, 150, 120), (150, 180, 160)),
    "carpet": ((130, 40, 50), (60, 70, 100), (110, 105, 95), (60, 90, 60)),
}


def draw_surface(rng: Rng, material: str | None = None, defect: str | None = None) -> Sample:
    """Render a random (or the given) material with a random (or the given) defect."""
    material = material or str(rng.choice(MATERIALS))
    if defect is None:
        defect = "good" if rng.random() < 0.22 else str(rng.choice(DEFECTS[1:]))
    tones = _TONES[material]
    tone = jitter(tones[int(rng.integers(len(tones)))], rng, 10)
    relief = _RELIEF[material](rng)
    pixels = np.asarray(tone, np.float32) + relief[..., None] * 30
    pixels = pixels * (1 + 0.12 * noise_field(rng, 2, 2)[..., None])
    if defect != "good":
        pixels = _DEFECT[defect](pixels, rng)
    blur = float(rng.uniform(0.3, 0.9)) if rng.random() < 0.2 else 0.0
    image = finish(to_image(pixels), blur, SIZE, float(rng.uniform(0, 5)), rng)
    if rng.random() < 0.2:
        image = image.convert("L").convert("RGB")
    light = luminance(tone) > 127
    return Sample(image, Facts("surface", material, defect, "grey", "grey", light, blur=blur))


def _leather(rng: Rng) -> Field:
    """Pebbles: distance to the nearest of many random points."""
    count = int(rng.integers(50, 110))
    seeds = rng.uniform(-2, SIZE + 2, (count, 2)).astype(np.float32)
    squared = (_X[..., None] - seeds[:, 0]) ** 2 + (_Y[..., None] - seeds[:, 1]) ** 2
    nearest = np.sqrt(squared.min(-1))
    return np.asarray(0.7 - nearest / nearest.mean() * 0.7 + 0.2 * fractal(rng, 3, 3))


def _steel(rng: Rng) -> Field:
    brushed = rng.normal(0, 0.35, (SIZE, 1)) + rng.normal(0, 0.12, (SIZE, SIZE))
    lines = brushed if rng.random() < 0.7 else brushed.T
    return np.asarray(lines + 0.7 * noise_field(rng, 2, 2))


def _fabric(rng: Rng) -> Field:
    period = rng.uniform(3.5, 7.5)
    angle = rng.choice([0.0, np.pi / 4]) + rng.normal(0, 0.05)
    u = _X * np.cos(angle) + _Y * np.sin(angle)
    v = _Y * np.cos(angle) - _X * np.sin(angle)
    over = np.sin(2 * np.pi * u / period) * np.sin(2 * np.pi * v / period)
    threads = np.where(over > 0, np.cos(2 * np.pi * u / period), np.cos(2 * np.pi * v / period))
    return np.asarray(0.8 * threads + 0.15 * fractal(rng, 8, 2))


def _wood(rng: Rng) -> Field:
    across, along = (_X, _Y) if rng.random() < 0.6 else (_Y, _X)
    bend = 6 * noise_field(rng, 2, 2) + 0.02 * (along - 32) * rng.normal()
    rings = np.sin(2 * np.pi * (across + bend) / rng.uniform(6, 13))
    fibre = np.repeat(rng.normal(0, 0.25, (1, SIZE)), SIZE, 0)
    return np.asarray(0.6 * rings + (fibre if across is _X else fibre.T) + 0.1 * fractal(rng, 8, 2))


def _concrete(rng: Rng) -> Field:
    specks = (rng.random((SIZE, SIZE)) < 0.02) * rng.uniform(-2, -0.5)
    return np.asarray(0.5 * fractal(rng, 4, 4) + specks)


def _tile(rng: Rng) -> Field:
    side = int(rng.integers(16, 30))
    dx, dy = rng.integers(0, side, 2)
    u, v = (_X + dx) % side, (_Y + dy) % side
    grout = (np.minimum(u, v) < 2.0) * -2.6
    glaze = 0.5 * (u + v) / side - 0.5
    return np.asarray(grout + glaze * 0.5 + 0.1 * fractal(rng, 4, 2))


def _carpet(rng: Rng) -> Field:
    tufts = rng.normal(0, 0.9, (SIZE, SIZE))
    loops = 0.5 * np.sin(2 * np.pi * _Y / rng.uniform(3, 5))
    return np.asarray(tufts + loops * (rng.random() < 0.6) + 0.2 * fractal(rng, 3, 2))


_RELIEF: dict[str, Callable[[Rng], Field]] = {
    "leather": _leather,
    "steel": _steel,
    "fabric": _fabric,
    "wood": _wood,
    "concrete": _concrete,
    "tile": _tile,
    "carpet": _carpet,
}


def _mask(draw: Callable[[ImageDraw.ImageDraw], None], blur: float) -> Field:
    """Draw on a double-size canvas; return the soft mask as float ``(64, 64, 1)`` in 0..1."""
    image = Image.new("L", (2 * SIZE, 2 * SIZE), 0)
    draw(ImageDraw.Draw(image))
    image = image.filter(ImageFilter.GaussianBlur(2 * blur)).reduce(2)
    return np.asarray(image, np.float32)[..., None] / 255


def _segment(rng: Rng, short: float, long: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two ends of a line through the middle region, in double-size pixels."""
    centre = rng.uniform(42, 86, 2)
    angle, half = rng.uniform(0, np.pi), rng.uniform(short, long) / 2
    step = half * np.array([np.cos(angle), np.sin(angle)])
    return centre - step, centre + step


def _cut(pixels: Field, rng: Rng) -> Field:
    """A dark slit, wide in the middle, with a lighter lip."""
    a, b = _segment(rng, 50, 100)
    normal = np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
    wide, middle = rng.uniform(5, 10), (a + b) / 2
    lens = [tuple(p) for p in (a, middle + normal * wide, b, middle - normal * wide)]
    shifted = [(x + 5 * normal[0], y + 5 * normal[1]) for x, y in lens]
    lip = _mask(lambda d: d.polygon(shifted, fill=255), 0.8)
    slit = _mask(lambda d: d.polygon(lens, fill=255), 0.4)
    return np.asarray((pixels + 45 * lip) * (1 - slit) + 15 * slit)


def _scratch(pixels: Field, rng: Rng) -> Field:
    """One to three long thin light lines."""

    def strokes(d: ImageDraw.ImageDraw) -> None:
        a, b = _segment(rng, 90, 150)
        for _ in range(int(rng.integers(1, 4))):
            shift = rng.normal(0, 8, 2)
            d.line([tuple(a + shift), tuple(b + shift + rng.normal(0, 4, 2))], fill=255, width=3)

    line = _mask(strokes, 0.3)
    return np.asarray(pixels + line * rng.uniform(75, 120))


def _hole(pixels: Field, rng: Rng) -> Field:
    """A dark round hole with a bright rim."""
    x, y = rng.uniform(40, 88, 2)
    rx = rng.uniform(12, 28)
    ry = rx * rng.uniform(0.8, 1.2)
    rim = _mask(lambda d: d.ellipse((x - rx - 4, y - ry - 4, x + rx + 4, y + ry + 4), fill=255), 0.6)
    core = _mask(lambda d: d.ellipse((x - rx, y - ry, x + rx, y + ry), fill=255), 0.5)
    return np.asarray((pixels + 35 * rim) * (1 - core) + 10 * core)


def _stain(pixels: Field, rng: Rng) -> Field:
    """A soft coloured blotch, or a clear droplet with a highlight."""
    x, y = rng.uniform(40, 88, 2)
    radius = rng.uniform(16, 34)
    angles = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    radii = radius * (1 + rng.normal(0, 0.16, 14))
    outline = [(x + r * np.cos(t), y + r * np.sin(t)) for r, t in zip(radii, angles, strict=True)]
    blob = _mask(lambda d: d.polygon(outline, fill=255), 1.6)
    tints = ((60, 30, 20), (30, 60, 120), (150, 30, 30), (30, 100, 50), (225, 215, 170))
    tint = np.asarray(tints[int(rng.integers(len(tints)))], np.float32)
    return np.asarray(pixels * (1 - 0.7 * blob) + tint * 0.7 * blob)


def _crack(pixels: Field, rng: Rng) -> Field:
    """A jagged dark line with branches."""

    def walk(d: ImageDraw.ImageDraw, at: np.ndarray, angle: float, steps: int, depth: int) -> None:
        for _ in range(steps):
            turn = angle + rng.normal(0, 0.55)
            to = at + rng.uniform(9, 16) * np.array([np.cos(turn), np.sin(turn)])
            d.line([tuple(at), tuple(to)], fill=255, width=4 if depth == 0 else 3)
            if depth == 0 and rng.random() < 0.35:
                walk(d, to, angle + rng.choice([-0.9, 0.9]), 3, 1)
            at = to

    a, b = _segment(rng, 110, 130)
    angle = float(np.arctan2(*(b - a)[::-1]))
    line = _mask(lambda d: walk(d, a, angle, 10, 0), 0.3)
    return np.asarray(pixels * (1 - 0.9 * line))


def _fold(pixels: Field, rng: Rng) -> Field:
    """A crease: light on one side of a line, dark on the other."""
    angle, offset = rng.uniform(0, np.pi), rng.uniform(-12, 12)
    across = (_X - 32) * np.cos(angle) + (_Y - 32) * np.sin(angle) - offset
    wide = rng.uniform(4, 8)
    shade = -across / wide * np.exp(0.5 - 0.5 * (across / wide) ** 2)
    return np.asarray(pixels + 65 * shade[..., None])


_DEFECT: dict[str, Callable[[Field, Rng], Field]] = {
    "cut": _cut,
    "scratch": _scratch,
    "hole": _hole,
    "stain": _stain,
    "crack": _crack,
    "fold": _fold,
}
