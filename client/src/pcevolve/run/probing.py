"""How large a demonstration this machine can make in the time that it may take.

A short run of prompts alone says how fast the bundled model draws here. Everything else that a demonstration does takes
its time whatever the model gains by what a processor has for networks; on a slow machine it is slow as well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

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


@dataclass
class Stopwatch:
    """When how many images were there."""

    seen: list[tuple[float, int]] = field(default_factory=list)

    def tell(self, progress: Progress) -> None:
        """Take the time."""
        self.seen.append((time.monotonic(), progress.images))

    @property
    def seconds_per_image(self) -> float:
        """From the first answer to the last: the first one waits for what a model does once."""
        (first, already), (last, images) = self.seen[0], self.seen[-1]
        return (last - first) / max(images - already, 1)


def seconds_per_image(probe: CheckedRun) -> float:
    """How long the provider takes for an image, by a run of which nothing else is wanted.

    Raises:
        ClientError: Why it ended.
    """
    watch = Stopwatch()
    execute(probe, Audience(tell=watch.tell))
    return watch.seconds_per_image


def expected_seconds(per_image: float, candidates: int) -> float:
    """How long the demonstration takes with so many candidates per class, from the start of its server on."""
    return per_image * IMAGES * candidates + max(OVERHEAD_SECONDS, OVERHEAD_IMAGES * per_image)


def affordable(per_image: float) -> int:
    """The most candidates per class for which the time is enough; the fewest that make sense, if it never is."""
    enough = [each for each in CANDIDATES if expected_seconds(per_image, each) <= SECONDS]
    return max(enough, default=min(CANDIDATES))
