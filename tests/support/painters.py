"""Generators that say what they were asked, or do as they are told, in processes of their own too; for tests only."""

import os
import signal
import time
from functools import partial
from pathlib import Path

from PIL import Image

from pcevolve_server.errors import AbandonedError, ModelLoadError
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


class Obedient:
    """Paints its seed, or does as told: ``die``, ``die once FILE``, ``wait FILE``, ``count N``, ``explode``."""

    bit_exact_batch_size, fixed_cost_batches, memory = 4, False, 0
    info = ModelInfo(
        id="obedient",
        name="obedient",
        family="none",
        pipelines=("text-to-image",),
        base_resolution=Resolution(width=8, height=8),
    )

    def create(self, tasks, is_cancelled):
        match tasks[0].prompt.split():
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["die", "once", file] if not Path(file).exists():
                Path(file).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case ["wait", file]:
                Path(file).touch()
                while not is_cancelled():
                    time.sleep(0.01)
                raise AbandonedError("nobody waits")
            case ["count", number]:
                for step in range(int(number)):
                    is_cancelled(step + 1, int(number))
            case ["explode"]:
                raise RuntimeError("SECRET")
        return [Picture(Image.new("RGB", (8, 8), (task.seed, 0, 0))) for task in tasks]


def unloadable():
    raise ModelLoadError("no such model")
