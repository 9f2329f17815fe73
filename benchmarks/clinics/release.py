"""One release of one owner, or of several who add up, without ledgers and without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcevolve.keeper.clinics.keys import OwnerKey, make_mask
from pcevolve.keeper.clinics.owner import SummedViews
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer, state_answer
from pcevolve.public.clinics.grid import to_residues
from pcevolve.public.clinics.owners import ClinicOwner, Clinics
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.privacy import Event
from pcevolve.public.release import Query, Receipt
from pcevolve.public.selectors.choosing import Chooser

COLLUDING = 1


@dataclass(frozen=True)
class OneOwner:
    """Selects by one owner's data, at the price of some events."""

    chooser: Chooser
    views: PrivateViews
    events: Mapping[int, tuple[Event, ...]]
    noise: Noise

    def show(self, query: Query, pool: Pool) -> None:
        """See ``Judge``."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge``."""
        plan, events = self.chooser.plan, self.events[query.iteration]
        scenes = self.chooser.find_inputs(query.iteration, pool, (None,))
        measured = self.chooser.selector.measure(self.views.embeddings(None), scenes[0], events, self.noise)
        choices, values = self.chooser.choose(measured, scenes, pool)
        return Receipt(plan.run_id, query.iteration, choices, events, plan.privacy.relation, values)


def widen(event: Event, owners: int) -> Event:
    """An access whose noise is the sum of as many as would each pay for it alone."""
    value = float(event.value or 0) * owners**0.5
    return event if event.free else Event(event.mechanism, repr(value), event.count)


@dataclass(frozen=True)
class SeveralOwners:
    """Adds up what owners answer: rounded, each with its share of the noise and its mask, and signed.

    Attributes:
        sent: Questions and answers so far.
    """

    summing: Summing
    views: Sequence[SummedViews]
    keys: Sequence[OwnerKey]
    sent: list[Exchange] = field(default_factory=list)

    def show(self, query: Query, pool: Pool) -> None:
        """Make the frame, in public."""
        _ = self.summing.join(query.iteration, pool).coordinates

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge``."""
        head, exchanges = hashlib.sha256(query.key.encode()).hexdigest(), list[Exchange]()
        while (question := self.summing.ask(query.iteration, pool, head, exchanges)) is not None:
            answers = tuple(self.answer(place, pool, question, exchanges) for place in range(len(self.keys)))
            exchanges.append(Exchange(question=question, answers=answers))
        receipt, measured = self.summing.release(query.iteration, pool, head, exchanges)
        self.summing.note(receipt, measured)
        self.sent.extend(exchanges)
        return receipt

    def answer(self, place: int, pool: Pool, question: Question, before: Sequence[Exchange]) -> SignedAnswer:
        """What one owner answers; as ``Owner.answer`` does, but for record and ledger."""
        left = self.summing.leave(pool, question, before, self.views[place])
        drawn = to_residues(left.grid.add_noise(left.grid.round(left.values)))
        mask = make_mask(self.keys[place], self.summing.clinics, place, question.digest, drawn.size)
        vector = (drawn + mask).astype("<u8").tobytes()
        signature = self.keys[place].signing.sign(state_answer(question.digest, place, vector))
        return SignedAnswer.of(place, vector, signature)


def name_owners(parts: Sequence[PrivateDataset]) -> tuple[Clinics, list[OwnerKey]]:
    """Owners with keys of their own, each with so many images of a class."""
    keys, shots = [OwnerKey.new() for _ in parts], len(parts[0]) // len(parts[0].labels)
    named = (
        ClinicOwner(name=f"owner {place}", shots=shots, key=key.public) for place, key in enumerate(keys, 1)
    )
    return Clinics(owners=tuple(named), colluding=COLLUDING), keys
