"""Find pictures of the same thing that were scaled, compressed, brightened, turned, mirrored, cropped or rotated.

Turned pictures are found by coarse sketches, then aligned and compared in detail. Coarse sketches alone would
confuse two round cells, and fine sketches alone would miss two crops of one picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from pcevolve.public.media.images.decoding import DecodedImage

SIDE = 64  # side of a sketch, in pixels
COARSE = 16  # side of a coarse sketch, in pixels
ALIKE = 0.99
"""Least correlation of two coarse sketches that count as one picture.

Of 883 pictures of steel, chests and blood, no two different ones reach 0.98. Of copies that were halved in size, saved
at JPEG quality 30, or brightened by 15 %, 99 in 100 reach 0.99. Photographs of one thing by one fixed camera also reach
0.99.
"""
ALIKE_TURNED = 0.995
"""Least correlation for a turned or mirrored picture.

Of 217,470 pairs of pictures of steel, four reach 0.99 and none reaches 0.995.
"""
GUESSED = 0.75
"""Two pictures are compared in detail if their coarse sketches correlate at least this much.

A blurred copy is subtracted from each sketch first.
"""
ALIKE_IN_DETAIL = 0.9
"""Least correlation of the details of two aligned pictures."""
MOST_LOOKED_AT = 600
"""Largest number of pairs that are compared in detail, best first. A hundred pairs take about a second."""
LEAST_ACROSS = 0.1
"""Least ratio between a picture's variations in its two main directions.

With a smaller ratio, a picture shows stripes, which align with any other stripes. Crops of stripes are therefore not
found, but turned stripes are.
"""
PLAIN = 2.0
"""Standard deviation of grey values (0 to 255) below which a sketch is too plain to be recognised."""
BLOCK = 2048
"""Number of sketches that are compared with all others at once; for turned pictures, a hundredth of this number."""
_SHARE = 0.75  # share of a picture's side that is compared, so that cropped-off parts are not
_FINE = 40  # points per side for comparing details
_BLURS = (2.5, 2.5, 2.5, 2.5, 1.0, 1.0, 1.0, 1.0)  # in pixels, for each step of the alignment
_LONGEST_STEP = (0.1, 0.1, 0.04, 0.04)

Sketch = NDArray[np.uint8]
"""uint8 ``(64, 64)``: four kilobytes, so that whole folders are compared without keeping images in memory."""
Floats = NDArray[np.float64]


class View(NamedTuple):
    """A square part of a picture: angle in radians, scale, and centre as shares of the side."""

    angle: float = 0.0
    scale: float = 1.0
    across: float = 0.0
    down: float = 0.0


_VIEWS = (
    View(),
    *(View(scale=0.9, across=across, down=down) for across in (-0.05, 0, 0.05) for down in (-0.05, 0, 0.05)),
    *(View(angle=np.deg2rad(angle)) for angle in (-10, -5, 5, 10)),
)
"""Views of a picture that another picture may show: cropped to 90 % of its sides, or rotated."""


def sketch(image: DecodedImage) -> Sketch:
    """Reduce an image to 64 x 64 grey values."""
    return np.asarray(image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.uint8)


def find_alike(sketches: Sequence[Sketch]) -> Iterator[tuple[int, int]]:
    """Yield pairs of images that differ only in compression, scale or brightness, as indices, the smaller first."""
    if len(sketches) > 1:
        values = _reduce(sketches)
        yield from _correlate(values, values, ALIKE)


def find_turned(sketches: Sequence[Sketch], groups: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield pairs in which one image is the other turned, mirrored, cropped to 90 % or rotated by up to ten degrees.

    Args:
        groups: The group of each image. Pairs within a group are skipped.
    """
    if len(sketches) < 2:
        return
    values, seen = _reduce(sketches), set[tuple[int, int]]()
    turned = np.stack([_turn(each.reshape(COARSE, COARSE)) for each in values])
    whole = (pair for turn in range(1, 8) for pair in _correlate(turned[:, turn], values, ALIKE_TURNED))
    for one, other in whole:
        if (one, other) not in seen and groups[one] != groups[other]:
            seen.add((one, other))
            yield one, other
    for one, other, view, turn in _guess(sketches, groups):
        pair = (min(one, other), max(one, other))
        if pair not in seen and _compare(sketches[one], sketches[other], view, turn) >= ALIKE_IN_DETAIL:
            seen.add(pair)
            yield pair


def _reduce(sketches: Sequence[Sketch]) -> NDArray[np.float32]:
    """Return coarse sketches as rows of mean 0 and length 1."""
    pixels = SIDE // COARSE
    blocks = np.stack(sketches).reshape(-1, COARSE, pixels, COARSE, pixels)
    return _normalise(blocks.mean(axis=(2, 4), dtype=np.float32).reshape(len(sketches), -1), PLAIN)


def _correlate(
    some: NDArray[np.float32], others: NDArray[np.float32], least: float
) -> Iterator[tuple[int, int]]:
    """Yield index pairs of similar rows, the smaller index first; each row is compared with later rows only."""
    for start in range(0, len(some), BLOCK):
        found = np.argwhere(np.triu(some[start : start + BLOCK] @ others[start:].T >= least, k=1))
        yield from ((start + int(one), start + int(other)) for one, other in found)


def _guess(sketches: Sequence[Sketch], groups: Sequence[object]) -> list[tuple[int, int, View, int]]:
    """Return the best guesses, best first: a picture, a possible part of it, the view of that part, and its turn."""
    seen = np.stack([_see_coarsely(each) for each in sketches])  # (images, views, pixels)
    turned = np.stack([_turn(each[0].reshape(COARSE, COARSE)) for each in seen])
    codes = np.unique([str(each) for each in groups], return_inverse=True)[1]
    views, least = seen.reshape(-1, COARSE**2), GUESSED
    found = np.empty((0, 4))  # columns: correlation, picture, part, view and turn as one number
    for start in range(0, len(sketches), max(1, BLOCK // 100)):
        block = turned[start : start + max(1, BLOCK // 100)]
        fits = (block.reshape(-1, COARSE**2) @ views.T).reshape(len(block), 8, len(sketches), len(_VIEWS))
        ways = fits.transpose(0, 2, 3, 1).reshape(len(block), len(sketches), -1)
        best = ways.max(axis=2)
        best[codes[start : start + len(block), None] == codes[None]] = -1
        parts, wholes = np.nonzero(best >= least)
        ways_of = ways[parts, wholes].argmax(axis=1)
        new = np.column_stack([best[parts, wholes], wholes, parts + start, ways_of])
        found = np.concatenate([found, new])
        # Keep the best guesses, and let later blocks add only better ones.
        if len(found) > MOST_LOOKED_AT:
            found = found[np.argsort(-found[:, 0], kind="stable")[:MOST_LOOKED_AT]]
            least = float(found[-1, 0])
    ordered = found[np.argsort(-found[:, 0], kind="stable")]
    return [(int(one), int(other), _VIEWS[int(way) // 8], int(way) % 8) for _, one, other, way in ordered]


def _see_coarsely(picture: Sketch) -> NDArray[np.float32]:
    """Return the coarse sketch of a picture for each view, minus its blurred copy, scaled to length 1."""
    blurred = ndimage.gaussian_filter(picture.astype(np.float32), 1.4)
    seen = np.stack([_see(blurred, view, COARSE) for view in _VIEWS])
    return _normalise((seen - ndimage.gaussian_filter(seen, (0, 4, 4))).reshape(len(_VIEWS), -1), PLAIN / 2)


def _normalise(values: NDArray[np.float32], plain: float) -> NDArray[np.float32]:
    """Scale rows to mean 0 and length 1. Plain rows become 0."""
    values = values - values.mean(axis=1, keepdims=True)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(
        values / np.where(length > plain * values.shape[1] ** 0.5, length, np.inf), dtype=np.float32
    )


def _turn(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a square in all eight orientations (turned and mirrored), each as a row."""
    mirrored = (values, values[:, ::-1])
    return np.stack([np.rot90(each, turns).ravel() for each in mirrored for turns in range(4)])


def _grid(points: int) -> tuple[Floats, Floats]:
    """Return across and down coordinates for the points of a square of side ``_SHARE`` around 0."""
    line = ((np.arange(points) + 0.5) / points - 0.5) * _SHARE
    down, across = np.meshgrid(line, line, indexing="ij")
    return across, down


def _see(picture: NDArray[np.floating], view: View, points: int) -> Floats:
    """Return the part of a picture that a view shows, ``(points, points)``."""
    across, down = _grid(points)
    cosine, sine = np.cos(view.angle) * view.scale, np.sin(view.angle) * view.scale
    x, y = across * cosine - down * sine + view.across, across * sine + down * cosine + view.down
    places = [(y + 0.5) * SIDE - 0.5, (x + 0.5) * SIDE - 0.5]
    return np.asarray(ndimage.map_coordinates(picture, places, order=1, mode="nearest"))


def _compare(picture: Sketch, part: Sketch, view: View, turn: int) -> float:
    """Align a picture and a turned part of it, and return the correlation of their details."""
    picture_, part_ = picture.astype(np.float64), part.astype(np.float64)
    # Strong blurs first, so that a rough guess converges.
    for blur in _BLURS:
        shown = _turn(_see(ndimage.gaussian_filter(part_, blur), View(), _FINE))[turn]
        view = _improve(ndimage.gaussian_filter(picture_, blur), shown, view)
    shown = _turn(_see(part_, View(), _FINE))[turn].reshape(_FINE, _FINE)
    if not _changes_both_ways(shown):
        return 0.0
    return float(_detail(_see(picture_, view, _FINE)) @ _detail(shown))


def _changes_both_ways(seen: Floats) -> bool:
    """False for stripes, by the structure tensor."""
    slopes = np.stack(np.gradient(ndimage.gaussian_filter(seen, 1))).reshape(2, -1)
    least, most = np.linalg.eigvalsh(slopes @ slopes.T)
    return bool(least >= LEAST_ACROSS * most)


def _improve(picture: Floats, shown: Floats, view: View) -> View:
    """Improve a view by one least-squares step, with brightness and contrast as free parameters."""
    seen = _see(picture, view, _FINE)
    across, down = _grid(_FINE)
    by_down, by_across = np.gradient(seen, _SHARE / _FINE)
    turning, scaling = across * by_down - down * by_across, across * by_across + down * by_down
    columns = np.stack([turning, scaling, by_across, by_down, seen, np.ones_like(seen)], axis=-1).reshape(
        -1, 6
    )
    found = np.linalg.lstsq(columns.T @ columns + 1e-6 * np.eye(6), columns.T @ shown, rcond=None)[0]
    # A contrast near zero would make the step far too long.
    contrast = np.copysign(max(abs(found[4]), 0.2), found[4])
    step = np.clip(found[:4] / contrast, np.negative(_LONGEST_STEP), _LONGEST_STEP)
    cosine, sine = np.cos(view.angle) * view.scale, np.sin(view.angle) * view.scale
    return View(
        float(np.clip(view.angle + step[0], -0.4, 0.4)),
        float(np.clip(view.scale * (1 + step[1]), 0.7, 1.3)),
        float(np.clip(view.across + cosine * step[2] - sine * step[3], -0.2, 0.2)),
        float(np.clip(view.down + sine * step[2] + cosine * step[3], -0.2, 0.2)),
    )


def _detail(seen: Floats) -> Floats:
    """Return a picture's fine details, length 1 or 0, with strong edges damped so that outlines do not dominate."""
    fine = ndimage.gaussian_filter(seen, 0.7) - ndimage.gaussian_filter(seen, 3)
    fine = fine / (np.abs(fine) + max(1.0, float(np.abs(fine).mean())))
    values = (fine - fine.mean()).ravel()
    return np.asarray(values / (np.linalg.norm(values) or np.inf))
