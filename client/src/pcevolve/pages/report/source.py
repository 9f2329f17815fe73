"""What the report is made from: a finished run's record, its plan and its manifest. Opens nothing else of the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.transcript import Manifest, RunReader


@dataclass(frozen=True)
class FinishedRun:
    """A finished run's public side.

    Attributes:
        record: Everything that crossed the wire.
        plan: What was planned.
        manifest: What the release says about itself.
    """

    record: RunReader
    plan: PublicPlan
    manifest: Manifest

    @classmethod
    def of(cls, record: RunReader) -> FinishedRun:
        """Take a run's plan and manifest from its record.

        Args:
            record: A whole one.

        Raises:
            UsageError: The run is unfinished, so its record has no end yet that anything could be said about.
            TranscriptError: The manifest is damaged.
        """
        return cls(record, record.require_finished(), record.manifest())

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Receipts by the iteration whose requests they allow."""
        return {each.iteration: each for each in self.record.receipts}
