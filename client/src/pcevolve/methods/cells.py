"""In how many cells SecPE counts a class's texts unless its user says; from public numbers."""

from __future__ import annotations

from typing import Final

from pcevolve.dp.sensitivity import histogram_sensitivity
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Event

CLEAR: Final = 2.0
"""Standard deviations of noise that the average cell counts."""
FEWEST: Final = 12
"""Cells, of fewer of which a selection hardly differs from luck (docs/results/cells.md), however clearly they count."""


def usual_cells(event: Event, scope: Scope, share: float, initial: int) -> int:
    """The most cells of which the average one counts clearly more than noise, were a secret in every text.

    Args:
        event: What pays for the release.
        scope: Public sizes.
        share: What is left of the vote of a text with a secret, in [0, 1]; see ``dp.secrecy.secret_share``.
        initial: First candidates of each class, which are the most cells that there can be.
    """
    sigma = float(event.value) * histogram_sensitivity(scope.relation)
    return min(initial, max(FEWEST, int(scope.shots * share / (CLEAR * sigma))))
