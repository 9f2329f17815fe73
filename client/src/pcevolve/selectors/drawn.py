"""What selectors have in common whose measurement names one candidate of each class: the choice after it is public."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcevolve.privacy import Events
from pcevolve.selectors.following import are_entrants, has_form, is_surrounded
from pcevolve.selectors.scene import IntArray, Measurement, Scene, surrounded


class Drawn:
    """``pick`` and the auditor's questions, where ``chosen``, int64 ``(classes,)``, is measured."""

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """The drawn candidates; where several per class are wanted, with their nearest neighbours in the pool.

        One draw per class and round is what the budget is spent on, so the others can only be alike, not chosen.
        """
        return tuple(surrounded(scene, target, int(each)) for target, each in enumerate(measured["chosen"]))

    def rounding_bits(self, measured: Measurement, scene: Scene, events: Events) -> int | None:
        """0 for one candidate of each class that could be drawn, which no rounding touches; else None."""
        form = {"chosen": (np.int64, (len(scene.labels),))}
        return 0 if has_form(measured, form) and are_entrants(measured["chosen"], scene) else None

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """Whether these are the drawn candidates and their nearest neighbours, rounding aside."""
        return all(
            is_surrounded(scene, target, int(winner), picked[target])
            for target, winner in enumerate(measured["chosen"])
        )
