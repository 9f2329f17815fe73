"""What an audit says about one claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One claim: it holds, it is broken, or nobody could tell.

    Attributes:
        claim: What was checked, in plain words.
        faults: What is wrong; empty when nothing is.
        checked: How many things were looked at.
        unchecked: Why nothing can be said, such as that weights are not at hand; empty when all was looked at.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int
    unchecked: str = ""

    @property
    def holds(self) -> bool:
        """Whether all was looked at and nothing is wrong."""
        return not self.faults and not self.unchecked

    @property
    def verdict(self) -> str:
        """One or two words for a table: ``holds``, ``BROKEN`` or ``NOT CHECKED``."""
        if self.faults:
            return "BROKEN"
        return "NOT CHECKED" if self.unchecked else "holds"
