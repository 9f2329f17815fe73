"""An audit's finding about one claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of checking one claim: it holds, is broken, is not yet complete, or could not be checked.

    Attributes:
        claim: The checked claim, in plain words.
        faults: The violations that were found; empty if there are none.
        checked: Number of checked items.
        unchecked: Why the claim could not be checked, such as missing weights; empty if everything was checked.
        pending: The missing part of a run in progress; empty for a finished run.
    """

    claim: str
    faults: tuple[str, ...]
    checked: int
    unchecked: str = ""
    pending: str = ""

    @property
    def holds(self) -> bool:
        """True if everything was checked and nothing is broken or pending."""
        return not (self.faults or self.unchecked or self.pending)

    @property
    def verdict(self) -> str:
        """One or two words for a table: ``holds``, ``BROKEN``, ``UNFINISHED`` or ``NOT CHECKED``."""
        if self.faults:
            return "BROKEN"
        if self.pending:
            return "UNFINISHED"
        return "NOT CHECKED" if self.unchecked else "holds"
