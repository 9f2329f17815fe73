"""A finished run, loaded for evaluation: its dataset from the record, and the private side's components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pcevolve.keeper.components import Components
from pcevolve.public.calls import Call
from pcevolve.public.loop.evolution import Ask, Evolved, evolve
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usable import UsableRule
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Query, Receipt
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.transcript.reader import RunReader


@dataclass(frozen=True)
class Outcome:
    folder: RunFolder
    components: Components
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]

    @property
    def owner(self) -> OwnerFolder:
        """The owner's private folder of the run."""
        return OwnerFolder.of(self.folder.root, self.components.settings.privacy.ledger)


@dataclass(frozen=True)
class _Recalled:
    """Generator, judge and watcher of a finished run, which replay its record."""

    record: RunReader

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Yield the recorded outputs of calls."""
        for call, source in asks:
            parent = None if source is None else source.candidate.id
            digests = self.record.outputs[call.slot]
            yield tuple(
                Candidate(call.output(place), call.label, call.iteration, parent, digest)
                for place, digest in enumerate(digests)
            )

    def show(self, query: Query, pool: Pool) -> None: ...

    def release(self, query: Query, pool: Pool) -> Receipt:
        return next(each for each in self.record.receipts if each.iteration == query.iteration)

    def generated(self, call: Call) -> None: ...

    def released(self, receipt: Receipt) -> None: ...


def recall(record: RunReader) -> Evolved:
    """Rebuild the populations of a finished run without checking them; an audit checks them."""
    plan, known = record.require_plan(), _Recalled(record)
    usability = UsableRule(plan, record.bodies.file)
    return evolve(plan, known, known, known, usability.identify, usability.is_enough)
