"""What an audit says about one claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One claim and whether it holds.

    Attributes:
        claim: What was checked, in plain words.
        faults: What is wrong; empty when the claim holds.
        checked: How many things were looked at.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults
