"""A run once more: ``evolve`` over the recorded answers, with a gate that compares and a judge that reads receipts.

What it verifies is the order of the record, every request byte for byte, what each answer brought, and that the plan's
releases were paid for as planned, once, and chose among what had come. It takes no receipt's word for its choices:
``selection`` derives them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pcevolve.auditing.comparing import ComparingGate
from pcevolve.auditing.lines import OutOfPlaceError, RecordEndsError
from pcevolve.auditing.receipts import names_as_planned, receipt_faults
from pcevolve.dp.accountants import within
from pcevolve.errors import ClientError
from pcevolve.evolution import Evolved, Pool, evolve
from pcevolve.providers import dialect
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.transcript import RunReader
from pcevolve.usability import Usability


@dataclass
class Rerun:
    """The outcome of running a record again.

    Attributes:
        run: The record.
        pools: What each release chose from, by its iteration, as far as the record goes.
        evolved: What came out; None where the record ends, or breaks, before the run does.
        requests: What is wrong with the order of lines, or with a request, each with its line.
        receipts: What is wrong with receipts.
        unusable: Releases, or a dataset, of candidates among which the plan's rule leaves nothing to choose.
    """

    run: RunReader
    pools: dict[int, Pool] = field(default_factory=dict)
    evolved: Evolved | None = None
    requests: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunReader) -> Rerun:
        """Run a whole record again; what is wrong with it is noted, never raised."""
        again = cls(run)
        try:
            again._carry_out()
        except RecordEndsError:
            pass
        except (OutOfPlaceError, ClientError) as error:
            again.requests.append(str(error))
        except OSError as error:
            again.requests.append(f"{error.filename} cannot be read: {error.strerror}")
        except (
            ArithmeticError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:  # what a forger wrote into a record
            again.requests.append(f"the record cannot be made sense of ({type(error).__name__})")
        return again

    def generated(self, call: Call) -> None:
        """Nobody waits for progress."""

    def released(self, receipt: Receipt) -> None:
        """Nobody waits for progress."""

    def _carry_out(self) -> None:
        run, plan = self.run, self.run.plan
        gate = ComparingGate(run, dialect(run.opened.dialect), plan, self.requests)
        gate.begin()
        if plan is None:
            return
        usability = Usability(plan, run.bodies.file)
        evolved = evolve(plan, gate, _RecordedReceipts(gate, plan, usability, self), self)
        gate.finish()
        if not plan.selects and (fault := usability.fault(Pool(evolved.populations[-1]), is_dataset=True)):
            self.unusable.append(f"the dataset: {fault}")
        if not within([event for each in evolved.receipts for event in each.events], plan.budget):
            self.receipts.append(
                f"the receipts add up to more than the budget of {float(plan.budget.epsilon):g}"
            )
        self.evolved = evolved


@dataclass(frozen=True)
class _RecordedReceipts:
    """A judge whose receipts are those on record."""

    gate: ComparingGate
    plan: PublicPlan
    usability: Usability
    told: Rerun

    def show(self, query: Query, pool: Pool) -> None:
        """Keep what the release chooses from."""
        self.told.pools[query.iteration] = pool

    def release(self, query: Query, pool: Pool) -> Receipt:
        """The receipt on record.

        Raises:
            OutOfPlaceError: There is another line.
            RecordEndsError: It names what it could not choose, and nothing follows from that.
        """
        receipt = self.gate.take_receipt(query.iteration)
        where = f"receipt for iteration {query.iteration}"
        unknown = list(_unknown(receipt, pool))
        faults = [*receipt_faults(receipt, self.plan), *unknown]
        self.told.receipts.extend(f"{where}: {each}" for each in faults)
        if fault := self.usability.fault(pool):
            self.told.unusable.append(f"{where}: {fault}")
        if unknown or not names_as_planned(receipt, self.plan):
            raise RecordEndsError
        return receipt


def _unknown(receipt: Receipt, pool: Pool) -> Iterator[str]:
    """Classes for which a receipt names what it did not choose from."""
    for each in receipt.choices:
        known = {(one.id, one.digest) for one in pool.candidates.get(each.label, ())}
        if not known.issuperset((one.id, one.digest) for one in each.chosen):
            yield f"names an image that is not among those it chose from, for {each.label!a}"
