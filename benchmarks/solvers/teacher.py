"""The model that the bundled one was distilled from, out of this repository's history."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pcevolve_server.diffusion.generator_loading import load
from pcevolve_server.model_settings import OWN_SCHEDULER, Batching, ModelSettings, Precision
from pcevolve_server.work import Generator, Recipe, Task

COMMIT = "36526ea6eb13e1430eabecd66124944c908a6175"
"""The last one whose bundled model takes ten guided steps."""
_ROOT = Path(__file__).parents[2]
_BUNDLED = "api_server/src/pcevolve_server/bundled"
_BATCH = 24


@contextlib.contextmanager
def teacher() -> Iterator[Path]:
    """Its directory, which is gone afterwards.

    Raises:
        CalledProcessError: The history is not there: a shallow clone, or no clone at all.
    """
    with tempfile.TemporaryDirectory(prefix="teacher") as folder:
        archive = subprocess.run(
            ["git", "-C", _ROOT, "archive", COMMIT, _BUNDLED], check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder) / _BUNDLED


def load_teacher(folder: Path, precision: Precision) -> Generator:
    """The model as the server would load it, but for padding, which would count as time."""
    settings = ModelSettings(
        model=str(folder),
        device="cpu",
        offline=True,
        threads=1,
        precision=precision,
        scheduler=OWN_SCHEDULER,
        batching=Batching.MERGE,
    )
    return load(settings)


def draw(model: Generator, recipe: Recipe, prompts: Sequence[str], seed: int) -> tuple[np.ndarray, float]:
    """Images, uint8 ``(prompts, height, width, 3)``, and processor seconds for each.

    Args:
        model: Draws them, in batches.
        recipe: Of all of them.
        prompts: Of each.
        seed: Of the first; the next has the next.
    """
    tasks = [Task(recipe, prompt, "", seed + place) for place, prompt in enumerate(prompts)]
    started = time.process_time()
    made = [
        picture
        for start in range(0, len(tasks), _BATCH)
        for picture in model.create(tasks[start : start + _BATCH])
    ]
    seconds = (time.process_time() - started) / len(tasks)
    return np.stack([np.asarray(each.image) for each in made]), seconds
