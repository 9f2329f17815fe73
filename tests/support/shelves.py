"""Generators for several models at once, which say what they were asked; for tests only, also in other processes."""

from functools import partial

from PIL import Image

from pcevolve_server.models import ModelCache
from pcevolve_server.work import Picture
from pcevolve_shared.wire import ModelInfo, Recommended, Resolution

MIB = 2**20


class Painter:
    """Paints its own colour, as a model of its name and weight."""

    fixed_cost_batches = False

    def __init__(self, name, shade, mib=1, companions=1, size=8):
        self.bit_exact_batch_size, self.memory, self.shade = companions, mib * MIB, shade
        self.batches = []
        self.info = ModelInfo(
            id=name,
            name=name.rsplit("/", 1)[-1],
            family="painter",
            pipelines=("text-to-image", "image-to-image"),
            base_resolution=Resolution(width=size, height=size),
            size_multiple=size,
            max_images=64,
            recommended=Recommended(steps=shade, guidance=1.0, strength_low=0.2, strength_high=0.9),
        )

    def create(self, tasks, is_cancelled=lambda: False):
        self.batches.append([task.seed for task in tasks])
        sides = tasks[0].recipe.width, tasks[0].recipe.height
        return [Picture(Image.new("RGB", sides, (self.shade, task.seed % 256, 0))) for task in tasks]

    vary = create


def two_that_do_not_fit_together():
    """A shelf on which one of two models is at a time."""
    return ModelCache([partial(Painter, "one", 10), partial(Painter, "two", 20)], MIB)
