"""Small pictures by a generator of any kind."""

from __future__ import annotations

from pcevolve_server.work import Recipe
from support.drawing import noise_image, pixels, tasks

RECIPE = Recipe(width=32, height=48, steps=4, guidance=3.0)


def create(generator, *seeds, **changes):
    return pixels(generator.create(tasks(RECIPE, *seeds, **changes)))


def vary(generator, strength, *seeds, image=0, **changes):
    start = noise_image(image, RECIPE.width, RECIPE.height)
    return pixels(generator.vary(tasks(RECIPE, *seeds, image=start, strength=strength, **changes)))
