"""An audit's finding about one claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One claim: it holds, is broken, cannot hold yet, or could not be checked.

    Attributes:
        claim: The checked claim, in plain words.
        faults: What is wrong; empty if nothing is.
        checked: Number of things that were checked.
        unchecked: Why the claim could not be checked, such as missing weights; empty if all was checked.
        pending: What has not happened yet in a run in progress; empty for a finished run.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int
    unchecked: str = ""
    pending: str = ""

    @property
    def holds(self) -> bool:
        """True if all was checked, and nothing is wrong or pending."""
        return not (self.faults or self.unchecked or self.pending)

    @property
    def verdict(self) -> str:
        """One or two words for a table: ``holds``, ``BROKEN``, ``UNFINISHED`` or ``NOT CHECKED``."""
        if self.faults:
            return "BROKEN"
        if self.pending:
            return "UNFINISHED"
        return "NOT CHECKED" if self.unchecked else "holds"
