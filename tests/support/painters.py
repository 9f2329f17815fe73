"""Generators that say what they were asked, or do as they are told, in processes of their own too; for tests only."""

import os
import signal
import threading
import time
from pathlib import Path

from PIL import Image

from pcevolve_server.errors import AbandonedError, ModelLoadError
from pcevolve_server.work import Completion, Picture
from pcevolve_shared.wire import ModelInfo, Recommended, Resolution

MIB = 2**20


class Painter:
    """Paints its own colour, as a model of its name and weight."""

    fixed_cost_batches = on_gpu = False

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


class Obedient:
    """Paints its seed, or does as told: ``die``, ``die once FILE``, ``wait FILE``, ``explode``."""

    bit_exact_batch_size, fixed_cost_batches, on_gpu, memory = 4, False, False, 0
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
            case ["explode"]:
                raise RuntimeError("SECRET")
        return [Picture(Image.new("RGB", (8, 8), (task.seed, 0, 0))) for task in tasks]


def unloadable():
    raise ModelLoadError("no such model")


class Device:
    """A GPU that fails as it is told, and the errors that torch raises then, by their names and words.

    Attributes:
        pixels: Of all images of a run that it has memory for.
        broken: Whether every call fails, as of a process whose CUDA context is lost.
    """

    def __init__(self, pixels=10**9):
        self.pixels, self.broken, self.hangs = pixels, False, threading.Event()

    def compute(self, pixels, is_cancelled=lambda: False):
        is_cancelled()  # a sign of life
        if self.hangs.is_set():
            threading.Event().wait(4)
        if self.broken:
            raise AcceleratorError("CUDA error: an illegal memory access was encountered")
        if pixels > self.pixels:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


class AcceleratorError(RuntimeError):
    pass


class OutOfMemoryError(RuntimeError):
    pass


class GpuPainter(Painter):
    """A painter whose images are computed on a device; prompts ``break`` and ``hang`` do that to it."""

    on_gpu = True

    def __init__(self, device, name="painter", **more):
        super().__init__(name, 10, **more)
        self.device = device

    def create(self, tasks, is_cancelled=lambda: False):
        match tasks[0].prompt:
            case "break":
                self.device.broken = True
            case "hang":
                self.device.hangs.set()
        self.device.compute(sum(task.recipe.width * task.recipe.height for task in tasks), is_cancelled)
        return super().create(tasks, is_cancelled)

    vary = create


class GpuWriter:
    """Writes each text's seed on a device, on which a text takes as much memory as a pixel."""

    bit_exact_batch_size, fixed_cost_batches, on_gpu, memory = 1, False, True, 0
    info = ModelInfo(id="writer", name="writer", family="none", pipelines=("chat",), negative_prompts=False)

    def __init__(self, device):
        self.device, self.batches = device, []

    def write(self, tasks, is_cancelled=lambda: False):
        self.device.compute(len(tasks), is_cancelled)
        self.batches.append(len(tasks))
        return [Completion(str(task.seed), "stop", 1, 1) for task in tasks]


class Breakable(GpuPainter):
    """The same in a process of its own, on a device that is new with each process."""

    def __init__(self, shade=10, pixels=10**9):
        super().__init__(Device(pixels))
        self.shade = shade
