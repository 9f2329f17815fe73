"""What one release of ten owners takes beside the embedding: seconds of all parties, and bytes over the wire."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clinics.release import SeveralOwners, name_owners
from benchmarks.clinics.worlds import CELLS, begin
from benchmarks.selectors.trial import Watch
from pcevolve.keeper.clinics.owner import SummedViews
from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits, Paid
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.clinics.sync import News, Sync
from pcevolve.public.loop.evolution import evolve
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.release import Query, Receipt

OWNERS, REPEATS = 10, 5


@dataclass(frozen=True)
class PayingOwners(SeveralOwners):
    """Owners who pay each answer in a ledger of their own before it leaves; measures how long a release takes."""

    accounts: list[Account] = field(kw_only=True)
    took: list[float] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(kw_only=True)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge``."""
        started = time.process_time()
        receipt = super().release(query, pool)
        all_ = time.process_time() - started
        # Owners work at once, each on its own machine: who is waited for is the slowest of each access.
        slowest = sum(max(self.took[place:][:OWNERS]) for place in range(0, len(self.took), OWNERS))
        self.seconds.append((all_ - sum(self.took) + slowest, all_))
        return receipt

    def answer(self, place: int, pool: Pool, question: Question, before: Sequence[Exchange]) -> SignedAnswer:
        """What one owner answers, out of its ledger."""
        started = time.process_time()
        signed, account = super().answer(place, pool, question, before), self.accounts[place]
        query = Query(self.summing.plan.run_id, question.part)
        events = [each for each in self.summing.events[question.iteration] if not each.free]
        account.pay(query, (events[question.part],), lambda: Paid((), signed.vector))
        assert account.read_measured(question.part) == signed.vector
        self.took.append(time.process_time() - started)
        return signed


def measure_cost(work: Path) -> dict[str, float]:
    """Processor time, the least of some repeats: other work on a machine only adds to it."""
    seed = begin(CELLS, 0, work)
    parts = [seed.private.subset(range(place, len(seed.private), OWNERS)) for place in range(OWNERS)]
    seconds: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        clinics, keys = name_owners(parts)
        plan = seed.change_plan("1", clinics.shots, clinics)
        with TemporaryDirectory() as folder, ExitStack() as open_:
            accounts = []
            for place, part in enumerate(parts):
                ledger = open_.enter_context(closing(Ledger(Path(folder) / f"{place}.sqlite")))
                limits = Limits(plan.budget)
                accounts.append(
                    ledger.account(plan.run_id, part.privacy_units(), plan.privacy.relation, limits).enrol()
                )
            views = [SummedViews(PrivateViews(part, seed.eyes)) for part in parts]
            for each in views:
                each.embeddings(None)
            summing = Summing(plan, seed.chooser(plan))
            owners = PayingOwners(summing, views, keys, accounts=accounts, seconds=seconds)
            evolve(plan, seed.generator, owners, Watch(), identify=str)
    asked = [
        News(question=each.question, before=tuple(owners.sent[:place]))
        for place, each in enumerate(owners.sent)
    ]
    token = base64.b64encode(bytes(64))
    said = [
        Sync(version="0.2.0", roster=clinics.digest, owner=0, token=token, head=each.question.head,
             agreement=token, question=each.question.digest, answer=each.answers[0])
        for each in owners.sent
    ]  # fmt: skip
    return {
        "owners": OWNERS,
        "seconds": min(seconds)[0],
        "one_by_one": min(all_ for _, all_ in seconds),
        "question": sum(len(each.model_dump_json()) for each in asked) / 1000,
        "answer": sum(len(each.model_dump_json()) for each in said) / 1000,
        "vector": sum(len(each.answers[0].vector) for each in owners.sent) / 1000,
    }
