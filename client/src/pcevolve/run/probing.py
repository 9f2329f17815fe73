"""How large a demonstration this machine can make in the time that it may take.

A short run of prompts alone says how fast the bundled model draws here. Everything else that a demonstration does takes
its time whatever the model gains by what a processor has for networks; on a slow machine it is slow as well.
"""

from __future__ import annotations

import math

from pcevolve.run.checks import CheckedRun
from pcevolve.run.execution import execute
from pcevolve.run.progress import Audience, Progress

SECONDS = 90.0
"""That the demonstration should take after installation, on two quiet cores."""
CANDIDATES = (100, 60, 45, 30, 20)
"""Per class; fewer tell little."""
IMAGES = 14
"""That the run and its control ask for, per candidate."""
OVERHEAD_SECONDS = 75.0
"""All else, on two cores: starting the server, reading libraries, embedding; training what measures is nearly half."""
OVERHEAD_IMAGES = 1900
"""Images in whose time a slow machine does all else, which it does more slowly, too."""


def seconds_per_image(probe: CheckedRun) -> float:
    """How long the provider takes for an image, by a run of which nothing else is wanted.

    Its first images, which wait for what a model does once, are those that are shown before: they do not count.

    Returns:
        Infinity where all of it was on record, and this machine's pace is not known.

    Raises:
        ClientError: Why it ended.
    """
    told: list[Progress] = []
    execute(probe, Audience(tell=told.append))
    return told[-1].seconds_per_image or math.inf


def expected_seconds(per_image: float, candidates: int) -> float:
    """How long the demonstration takes with so many candidates per class, from the start of its server on."""
    return per_image * IMAGES * candidates + max(OVERHEAD_SECONDS, OVERHEAD_IMAGES * per_image)


def affordable(per_image: float) -> int:
    """The most candidates per class for which the time is enough; the fewest that make sense, if it never is."""
    enough = [each for each in CANDIDATES if expected_seconds(per_image, each) <= SECONDS]
    return max(enough, default=min(CANDIDATES))
