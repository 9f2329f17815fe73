"""Small runs of GCap through the real parts; for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pcevolve.captioners.attributes import Attributes
from pcevolve.dp.mechanisms import SecureNoise
from pcevolve.egress.transport import Transport
from pcevolve.methods import method
from pcevolve.modality.medium import Item
from pcevolve.private.captioning import CaptioningJudge, Captions
from pcevolve.public.plan import PublicPlan
from support.noised import private_images
from support.runs import SmallRun, small_plan


@dataclass
class Saying:
    """A captioner that says what it is told, again and again.

    Attributes:
        words: What it says of one image after the other.
        asked: How many images it was shown each time.
    """

    words: Sequence[str]
    asked: list[int] = field(default_factory=list)

    def captions(self, images: Sequence[Item]) -> list[str]:
        """The words, for as many images as there are."""
        self.asked.append(len(images))
        return [self.words[place % len(self.words)] for place in range(len(images))]


def captioned_plan(**changes: object) -> PublicPlan:
    """Two classes, captions of two private images of each, and two images by each of those."""
    values: dict[str, object] = {
        "method": "gcap", "not_private": True, "varied": "captioned", "captioner": {}, "initial": 0,
        "candidates": 4, "prototypes": 2, "shots": 2, "iterations": 1, "strengths": (),
    }  # fmt: skip
    return small_plan(**{**values, **changes})


def open_captioned(
    root: Path,
    plan: PublicPlan,
    provider: Transport | None = None,
    captioner: Captions | None = None,
    shots: int = 3,
) -> SmallRun:
    """A run that is about to begin, with the real judge; its captioner is the one that needs no model."""
    run = SmallRun.open(root, plan, provider)
    event = method(plan.method).planned(plan)[1][0]
    data = private_images(plan.labels, shots)
    run.judge = CaptioningJudge(data, run.account, SecureNoise(), plan, event, captioner or Attributes())
    return run


def captioned_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> SmallRun:
    """A whole run, whose files are still open."""
    run = open_captioned(root, plan, provider)
    run.finish()
    return run
