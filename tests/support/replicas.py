"""A generator for processes of their own, which does what its prompts say; for tests only."""

import os
import signal
import time
from pathlib import Path

from PIL import Image

from pcevolve_server.errors import AbandonedError, ModelLoadError
from pcevolve_server.work import Picture
from pcevolve_shared.wire import ModelInfo, Resolution


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
