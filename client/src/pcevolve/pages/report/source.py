"""The finished run that a report is about, and its traffic in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from pcevolve.pages.reasons import Reasons
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.transcript import Manifest, RunReader
from pcevolve.transcript.traffic import ALL_KINDS, Attempt, Counts, Traffic


@dataclass(frozen=True)
class FinishedRun:
    """A finished run's public side."""

    record: RunReader
    plan: PublicPlan
    manifest: Manifest

    @classmethod
    def of(cls, record: RunReader) -> FinishedRun:
        """Take a run's plan and manifest from its record.

        Raises:
            UsageError: The run is unfinished, so its record has no end yet that anything could be said about.
            TranscriptError: The manifest is damaged.
        """
        return cls(record, record.require_finished(), record.manifest())

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Receipts by the iteration whose requests they allow."""
        return {each.iteration: each for each in self.record.receipts}


@dataclass(frozen=True)
class TrafficTable:
    """The traffic of a run, counted.

    Attributes:
        unexplained: Images that left although the provider had not sent them, or neither a receipt nor the plan named
            them for that request.
        sent: Bytes sent by the end of each iteration.
    """

    kinds: dict[str, Counts]
    total: Counts
    unexplained: int
    sent: Sequence[int]
    received: Sequence[int]

    @classmethod
    def of(cls, traffic: Traffic, plan: PublicPlan) -> TrafficTable:
        """Add up a finished run's attempts, by kind, in all, and by iteration."""
        reasons = Reasons.of(traffic)
        counts = Counts.by_kind(traffic.attempts, reasons.counts)
        by_iteration = [Counts.of(group) for group in _by_iteration(traffic.attempts, plan.iterations)]
        return cls(
            kinds={kind: counts[kind] for kind in ALL_KINDS if kind in counts},
            total=reasons.counts(traffic.attempts),
            unexplained=reasons.unexplained,
            sent=list(accumulate(each.bytes_sent for each in by_iteration)),
            received=list(accumulate(each.bytes_received for each in by_iteration)),
        )


def _by_iteration(attempts: Iterable[Attempt], iterations: int) -> list[list[Attempt]]:
    """The attempts of each iteration; what comes before the first one counts as part of it."""
    groups: list[list[Attempt]] = [[] for _ in range(iterations + 1)]
    for each in attempts:
        groups[0 if each.call is None else min(each.call.iteration, iterations)].append(each)
    return groups
