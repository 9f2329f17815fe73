"""What a forger tries with the record of a run that no ε bounds, to make it look like another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leaks.forgeries.forging import edited
from leaks.forgeries.receipts import chosen, receipted
from pcevolve.auditing import Audit

GAUSSIAN = {"mechanism": "gaussian", "parameter": "2", "count": 1}
FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another choice": (
        receipted(lambda receipt: chosen(receipt).reverse()),
        "do not follow from what was measured",
    ),
    "a price": (receipted(lambda receipt: receipt.update(events=[GAUSSIAN])), "not the planned price"),
}
"""Acts on a run's folder, and what the audit says of each."""


def without(field: str) -> Callable[[Path], object]:
    """Take a field out of the plan on record."""
    return edited("planned", lambda event: event["plan"].pop(field))


def told_of(root: Path) -> list[str]:
    """All faults that the audit finds."""
    return [each for finding in Audit.of(root).findings for each in finding.faults]
