"""The mixture of all renderers: which share of the material each family gets."""

from __future__ import annotations

from material.facts import Rng, Sample
from material.glyphs import draw_glyph
from material.items import draw_item
from material.surfaces import draw_surface

GLYPH_SHARE, SURFACE_SHARE = 0.66, 0.18


def draw(rng: Rng, held_out: bool = False) -> Sample:
    """Render one random image; ``held_out`` restricts glyphs to fonts kept for evaluation."""
    roll = rng.random()
    if roll < GLYPH_SHARE:
        return draw_glyph(rng, held_out=held_out)
    if roll < GLYPH_SHARE + SURFACE_SHARE:
        return draw_surface(rng)
    return draw_item(rng)
