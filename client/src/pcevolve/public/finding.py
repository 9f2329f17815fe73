"""The finding of an audit about one claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One claim: it holds, it is broken, it cannot hold yet, or nobody could tell.

    Attributes:
        claim: What was checked, in plain words.
        faults: What is wrong; empty when nothing is.
        checked: How many things were looked at.
        unchecked: Why nothing can be said, such as that weights are not at hand; empty when all was looked at.
        pending: What has not happened yet in a run that is under way; empty when the run has come to its end.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int
    unchecked: str = ""
    pending: str = ""

    @property
    def holds(self) -> bool:
        """True if all was looked at, nothing is wrong and nothing is missing."""
        return not (self.faults or self.unchecked or self.pending)

    @property
    def verdict(self) -> str:
        """One or two words for a table: ``holds``, ``BROKEN``, ``UNFINISHED`` or ``NOT CHECKED``."""
        if self.faults:
            return "BROKEN"
        if self.pending:
            return "UNFINISHED"
        return "NOT CHECKED" if self.unchecked else "holds"
