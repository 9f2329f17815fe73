"""A finished small run that goes on: more of what it released; for tests only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pcevolve.egress.gate import Gate
from pcevolve.egress.retry import RetryPolicy
from pcevolve.egress.transport import Transport
from pcevolve.evolution import Pool, evolve
from pcevolve.ledger.ledger import Ledger
from pcevolve.pages.report.page import write_report
from pcevolve.providers import dialect
from pcevolve.public.parts import Extension
from pcevolve.public.release import Query, Receipt
from pcevolve.publish.dataset import publish, write_summary
from pcevolve.publish.release import Release
from pcevolve.selectors import find_method
from pcevolve.transcript import RunReader, Transcript
from support.provider import FakeProvider, FakeRewriter
from support.runs import ADDRESS, Silent, make_rewriter


@dataclass(frozen=True)
class OnRecord:
    """A judge that gives the receipts on record."""

    receipts: tuple[Receipt, ...]

    def show(self, query: Query, pool: Pool) -> None:
        """See ``Judge.show``."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge.release``."""
        return next(each for each in self.receipts if each.iteration == query.iteration)


@contextmanager
def reopen(root: Path, provider: Transport) -> Iterator[tuple[Gate, Transcript, Callable[[Receipt], bool]]]:
    """A new gate on the record of a run, and what its ledger knows."""
    transcript, ledger = Transcript(root / "transcript"), Ledger(root / "private" / "ledger.sqlite")
    plan = transcript.plan()
    assert plan is not None
    patience = RetryPolicy(seconds=5, first=1, sleep=lambda seconds: None)
    second = make_rewriter(transcript, plan, FakeRewriter())
    gate = Gate(transcript, dialect(plan.dialect), ADDRESS, provider, patience, rewriter=second)
    gate.hello(plan.run_id)
    yield gate, transcript, ledger.is_committed
    transcript.close()
    ledger.close()


def extend_run(root: Path, *extensions: Extension, provider: Transport | None = None) -> Path:
    """Extend a finished run, and publish it anew."""
    for extension in extensions:
        receipts = RunReader.strict(root).receipts
        with reopen(root, provider or FakeProvider()) as (gate, transcript, committed):
            known = transcript.plan()
            assert known is not None
            plan = gate.extend(len(known.extended) + 1, extension, committed)
            evolved = evolve(plan, gate, OnRecord(receipts), Silent())
            gate.finish()
            assessment = RunReader.strict(root).assessment
            facts = (evolved.receipts, transcript.head, len(transcript.entries), assessment)
            release = Release(plan, find_method(plan.method), evolved.dataset, *facts)
            publish(root / "release", release, transcript.bodies.file, anew=True)
    record = RunReader.strict(root)
    write_summary(record)
    write_report(record)
    return root
