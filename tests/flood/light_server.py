"""The API server as a process, with a generator that paints plain colours: no torch, so its memory is its own.

Run as a script; the argument is a JSON object of settings. The log says which port it listens on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial

from PIL import Image

from pcevolve_server import logs, server
from pcevolve_server.engines import thread
from pcevolve_server.models import ModelCache
from pcevolve_server.settings import Key, Settings
from pcevolve_server.work import Completion, IsCancelled, Picture, Task, TextTask, never_cancelled
from pcevolve_shared.wire import ModelInfo, Resolution


class Painter:
    """Answers every task with one colour, and every chat with a number."""

    info = ModelInfo(
        id="painter",
        name="painter",
        family="stable-diffusion",
        pipelines=("text-to-image", "image-to-image", "chat"),
        base_resolution=Resolution(width=64, height=64),
        max_images=64,
    )

    bit_exact_batch_size, fixed_cost_batches, on_gpu, memory = 64, False, False, 0

    def create(self, tasks: Sequence[Task], is_cancelled: IsCancelled = never_cancelled) -> list[Picture]:
        """Paint."""
        return [Picture(Image.new("RGB", (task.recipe.width, task.recipe.height), "navy")) for task in tasks]

    vary = create

    def write(
        self, tasks: Sequence[TextTask], is_cancelled: IsCancelled = never_cancelled
    ) -> list[Completion]:
        """Say the seed."""
        return [Completion(str(task.seed), "stop", len(task.messages), 1) for task in tasks]


if __name__ == "__main__":
    logs.configure("info")
    given = json.loads(sys.argv[1])
    keys = tuple(map(Key, given.pop("keys", ())))
    server.run(
        Settings(keys=keys, **{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}),
        thread.opening(partial(ModelCache, [Painter]), 0.0),
    )
