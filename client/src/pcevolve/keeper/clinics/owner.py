"""One owner's private side in a run of several owners: reads its data, checks the plan, answers within its budget."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from pcevolve.errors import BudgetError, DeclinedError, LedgerError, ModelError, ProtocolError, UsageError
from pcevolve.keeper.clinics.keys import OwnerKey, make_mask
from pcevolve.keeper.clinics.plans import describe_plan, describe_sent, read_data, require_plan
from pcevolve.keeper.clinics.record import CopiedRecord, find_plan
from pcevolve.keeper.ledger.entries import Origin, Terms
from pcevolve.keeper.ledger.ledger import Account, Ledger, Limits, Paid
from pcevolve.keeper.padding import Padding, choose_tick
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import selectors
from pcevolve.public.clinics import messages
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer, state_answer
from pcevolve.public.clinics.grid import Integers, to_residues
from pcevolve.public.clinics.roster import Roster
from pcevolve.public.clinics.summing import Summing, UnansweredError
from pcevolve.public.dp.accountants import epsilon, within
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.durable import write_private
from pcevolve.public.encoders import load_encoder, named_weights
from pcevolve.public.figures import USUAL_DELTA, format_loss, in_full
from pcevolve.public.geometry.distances import IntArray
from pcevolve.public.loop.lineage import Lineage
from pcevolve.public.loop.usable import UsableRule
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.protocol import Close, Done, Finish, digest_plan
from pcevolve.public.release import Query
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.selectors import PrivateEmbeddings
from pcevolve.public.selectors.choosing import Chooser, Rendition, find_frame
from pcevolve.public.transcript.chain import StoredFiles

AGREED = "agreed.json"
"""File with the digest of the plan that a person agreed to."""


@dataclass(frozen=True)
class OwnOptions:
    """An owner's options; the coordinator learns none of them.

    Attributes:
        folder: Folder with the owner's copy of the coordinator's record.
        texts: Names of the text column and the label column of a table.
        lifetime: Largest ε that all runs together may spend on a unit.
        most: Largest ε that this plan may spend on a unit, even with consent.
    """

    private: str
    roster: Path
    key: Path
    folder: Path
    ledger: Path
    unit_map: Path | None = None
    texts: tuple[str | None, str | None] = (None, None)
    weights: str | None = None
    lifetime: Fraction | None = None
    most: Fraction | None = None


class Consent(Protocol):
    """The person's consent to a plan.

    Consent must not come through the process with the network, because that process received the plan.
    """

    def ask(self) -> None:
        """Report that a plan is shown and that consent is awaited."""
        ...

    def is_given(self) -> bool:
        """Wait for the person's answer; return True for yes."""
        ...


@dataclass
class _Question:
    """The record as the account sees it: each payment is stored with the digest of its question."""

    head: str = ""

    def has(self, _receipt: object) -> bool:
        """Return False: an owner's record holds sums, never the receipts of the owner's own ledger."""
        return False


@dataclass(frozen=True, repr=False)
class SummedViews:
    """One owner's data in the form that ``Summing`` requires."""

    views: PrivateViews

    def __repr__(self) -> str:
        return "Views"

    def embeddings(self, rendition: Rendition) -> PrivateEmbeddings:
        return self.views.embeddings(rendition)

    @property
    def appearances(self) -> FloatArray:
        return self.views.appearances

    @property
    def unit_of(self) -> IntArray:
        return self.views.data.unit_of


@dataclass(frozen=True, repr=False)
class _Work:
    """The state that an owner has after checking a plan."""

    plan: PublicPlan
    account: Account
    events: Sequence[Event]
    views: SummedViews
    summing: Summing
    lineage: Lineage
    record: CopiedRecord


class Owner:
    """One owner's private side, with one method per message of the owner's front end."""

    def __init__(self, options: OwnOptions, screen: OwnerScreen, consent: Consent) -> None:
        """Read the roster and the key (``UsageError`` if the roster does not contain the key)."""
        self._began = time.monotonic()
        self._options, self._screen, self._consent = options, screen, consent
        self._folder = RunFolder(options.folder)
        self._roster = Roster.read(options.roster)
        self._key = OwnerKey.load(options.key)
        keys = [each.key for each in self._roster.owner]
        if self._key.public not in keys:
            raise UsageError(
                f"--key {options.key} does not belong to an owner in {options.roster}: its public key "
                f"ends in {self._key.public[-12:]}; add the public key to the roster, and give all owners "
                "the same roster"
            )
        self._place = keys.index(self._key.public)
        self._question = _Question()
        self._open = ExitStack()
        self._padding = Padding()
        self._work: _Work | None = None

    def __repr__(self) -> str:
        return "Owner"

    def introduce(self, _asked: messages.Introduce) -> messages.Introduced:
        """Identify this owner by a signature that is valid for this roster only."""
        roster = self._roster.clinics.digest
        token = self._key.signing.sign(messages.state_presence(roster))
        return messages.Introduced(owner=self._place, roster=roster, token=base64.b64encode(token))

    def consider(self, _asked: messages.Consider) -> messages.Considered:
        """Read the data; check that the plan follows the roster and that the owner can pay for it.

        The answer is delayed until a whole number of ticks has passed since the owner began.

        Raises:
            BudgetError: Too little of the budget is left.
            DataError: The data are unusable, or differ from the roster.
            LedgerError: The owner agreed to another plan of this run, or the ledger cannot pay for the run.
            ModelError: The encoder that the plan names is unavailable.
            ProtocolError: The plan differs from the roster.
        """
        if self._work is not None:
            raise ProtocolError("a plan is considered once")
        plan = find_plan(self._folder)
        require_plan(plan, self._roster, self._place)
        scope = (
            (len(plan.labels) ** 2) * plan.data.shots * plan.method.candidates * (plan.method.iterations + 1)
        )
        self._padding.tick = choose_tick(None, scope)
        with self._padding.section(self._began):
            return self._consider(plan)

    def _consider(self, plan: PublicPlan) -> messages.Considered:
        options, screen = self._options, self._screen
        data, notes = read_data(plan, self._roster, self._place, options, screen)
        summing = Summing(plan, self._load_chooser(plan))
        account = self._open_account(plan, data)
        is_agreed = self._has_agreed(plan, account)
        events = [event for each in summing.events.values() for event in each if not event.free]
        # Priced before any image is embedded, so that a refusal takes little time.
        self._require_cheap(plan, events)
        account.require(events)
        views = SummedViews(PrivateViews(data, summing.chooser.encoder))
        with screen.show_work(f"embedding private {plan.modality.kind}s") as show_progress:
            views.views.prepare(with_appearances=0 in plan.releases, show_progress=show_progress)
        usability = UsableRule(plan, StoredFiles(self._folder.bodies).file)
        lineage = Lineage(plan, usability.identify, usability.is_enough)
        record = CopiedRecord(self._folder, lineage, summing, self._owns)
        self._work = _Work(plan, account, events, views, summing, lineage, record)
        screen.print_facts([*describe_plan(plan, self._place, account, events), *notes])
        if not is_agreed:
            self._consent.ask()
        return messages.Considered(plan=digest_plan(plan), is_agreed=is_agreed)

    def agree(self, asked: messages.Agree) -> messages.Agreed:
        """Enter the run in the ledger, and sign its plan.

        Raises:
            BudgetError: Too little of the budget is left by now.
            DeclinedError: The person declined; nothing was spent.
            LedgerError: The run began with other data or another plan.
        """
        work = self._require_work()
        if asked.plan != work.summing.plan_digest:
            raise ProtocolError("the agreed plan differs from the plan that was shown; no noise was drawn")
        if not (self._has_agreed(work.plan, work.account) or self._consent.is_given()):
            raise DeclinedError("Not taking part. Nothing was spent")
        with self._padding.section():
            # Checked again: another run may have spent the budget meanwhile, and the other owners would pay
            # in vain.
            work.account.require(work.events)
            write_private(self._find_own(work.plan) / AGREED, {"plan": asked.plan, "owner": self._place})
            work.account.enrol()
        signature = self._key.signing.sign(messages.state_agreement(asked.plan))
        return messages.Agreed(signature=base64.b64encode(signature))

    def check(self, _asked: messages.Check) -> messages.Checked:
        """Read new lines of the record; see ``CopiedRecord.catch_up``."""
        self._require_work().record.catch_up()
        return messages.Checked()

    def answer(self, asked: messages.Answer) -> messages.PaidAnswer:
        """Answer a question about recorded candidates; the answer is charged and stored, and never changes.

        Raises:
            BudgetError: Too little of the budget is left; nothing was drawn.
            LedgerError: This access was paid for another question.
            ProtocolError: The question is not the plan's next one, or is about another record.
        """
        work, question = self._require_work(), asked.question
        if not work.account.enrolled:
            raise ProtocolError("no question is answered before the owner has agreed")
        work.record.catch_up()
        lineage, accesses = work.lineage, work.summing.list_accesses()
        if question.head != work.record.head:
            raise ProtocolError(
                "the question is about a different record from the one that this owner was shown; no noise was drawn"
            )
        if question.iteration != lineage.find_next() or lineage.list_missing(lineage.find_due()):
            raise ProtocolError("the question is not about the next release of the plan; no noise was drawn")
        if (question.iteration, question.part) not in accesses:
            raise ProtocolError(
                "the question is about an access that the plan does not contain; no noise was drawn"
            )
        if not all(map(self._owns, asked.before)):
            raise ProtocolError(
                "the question follows an answer that this owner did not give; no noise was drawn"
            )
        pool = lineage.pool(question.iteration)
        if question.iteration:  # public work, so it is outside the private section
            _ = work.summing.join(question.iteration, pool)
        with self._padding.section():
            vector = self._pay(work, question, asked.before)
        signature = self._key.signing.sign(state_answer(question.digest, self._place, vector))
        return messages.PaidAnswer(answer=SignedAnswer.of(self._place, vector, signature))

    def finish(self, result: Finish) -> Done:
        """Read the end of the record, show the owner the size of what was sent, and store the run's figures."""
        work = self._require_work()
        work.record.catch_up()
        accesses = range(len(work.summing.list_accesses()))
        self._screen.print_facts(
            [describe_sent([len(work.account.read_measured(each)) for each in accesses])]
        )
        write_private(self._find_own(work.plan) / "result.json", result.figures)
        return Done()

    def close(self, _asked: Close = Close()) -> None:  # noqa: B008 - frozen
        """Report private work that took longer than its tick, and close the ledger."""
        if self._padding.longest > self._padding.tick:
            self._screen.print(
                f"WARNING: private work took longer than the {self._padding.tick:g} s to which it is "
                "padded, so the coordinator could observe the longer time"
            )
        self._open.close()

    def _pay(self, work: _Work, question: Question, before: Sequence[Exchange]) -> bytes:
        """Return the answer from the ledger; if it is not there, compute, charge and store it in one transaction."""
        query = self._name(work, question)
        known = work.account.entries.payment(query)
        if known is not None:
            if known.record != question.digest:
                raise LedgerError(
                    "this access was already used to answer a different question, so the coordinator or "
                    "this ledger must be an old copy; no noise was drawn, and no more questions are "
                    "answered"
                )
            return work.account.read_measured(query.iteration)
        pool = work.lineage.pool(question.iteration)
        # Computed before the transaction, because other runs wait while it is open.
        left = work.summing.leave(pool, question, before, work.views)
        paying = [event for event in work.summing.events[question.iteration] if not event.free]
        mask = make_mask(self._key, work.summing.clinics, self._place, question.digest, left.values.size)

        def draw() -> Paid:
            return Paid((), (to_residues(_add_noise(left)) + mask).astype("<u8").tobytes())

        self._question.head = question.digest
        work.account.pay(query, (paying[question.part],), draw)
        return work.account.read_measured(query.iteration)

    def _name(self, work: _Work, question: Question) -> Query:
        """Return the ledger's name for an access: its number in the plan."""
        place = work.summing.list_accesses().index((question.iteration, question.part))
        return Query(work.plan.run_id, place)

    def _owns(self, exchange: Exchange) -> bool:
        """True if an exchange contains this owner's answer to its question, unchanged from the ledger."""
        work, question = self._require_work(), exchange.question
        if (question.iteration, question.part) not in work.summing.list_accesses():
            return False
        query = self._name(work, question)
        known = work.account.entries.payment(query)
        own = [each.vector for each in exchange.answers if each.owner == self._place]
        vector = work.account.read_measured(query.iteration)
        return known is not None and known.record == question.digest and own == [vector]

    def _find_own(self, plan: PublicPlan) -> Path:
        """Return the owner's folder for a run. It is beside the ledger, which owners on one machine do not share."""
        return self._options.ledger.absolute().parent / "joined" / plan.run_id

    def _has_agreed(self, plan: PublicPlan, account: Account) -> bool:
        """True if the person agreed to exactly this plan (``LedgerError`` if to another plan of the same run)."""
        path = self._find_own(plan) / AGREED
        if not path.exists():
            return False
        if json.loads(path.read_text())["plan"] != digest_plan(plan):
            raise LedgerError(
                "the coordinator shows a different plan from the one that you agreed to; no noise was drawn"
            )
        return account.enrolled

    def _load_chooser(self, plan: PublicPlan) -> Chooser:
        weights = self._options.weights
        if named_weights(plan.encoder.name, weights) != plan.encoder.weights:
            raise ModelError(
                f"the plan's encoder {plan.encoder.name} has different weights from those on this "
                "machine: give --encoder-weights FILE, or use the coordinator's version of pcevolve; "
                "nothing was spent"
            )
        encoder = load_encoder(plan.encoder.name, weights)
        find_frame(plan, encoder)
        selector = selectors.find_method(plan.method.name).make_selector()
        return Chooser(plan, encoder, StoredFiles(self._folder.bodies).file, selector)

    def _require_cheap(self, plan: PublicPlan, events: Sequence[Event]) -> None:
        # The coordinator chooses the plan's delta, and any epsilon becomes small at a large enough delta.
        most, delta = self._options.most, min(plan.privacy.delta, USUAL_DELTA)
        if most is not None and not within(events, Budget(most, delta)):
            raise BudgetError(
                f"the plan costs one {plan.unit} epsilon {format_loss(epsilon(events, delta))} at delta "
                f"{in_full(delta)}, more than --max-epsilon {float(most):g}; nothing was spent"
            )

    def _open_account(self, plan: PublicPlan, data: PrivateDataset) -> Account:
        ledger = Ledger(self._options.ledger, waiting=self._screen.print)
        self._open.enter_context(closing(ledger))
        terms = Terms(plan.provider.api, plan.secure, plan.data.unit_size)
        origin = Origin(str(self._folder.root.absolute()), plan.data.domain)
        limits = Limits(plan.budget, self._options.lifetime)
        units = data.privacy_units()
        return ledger.account(
            *(plan.run_id, units, plan.privacy.relation, limits, plan.unit, terms, origin, self._question),
            data.compute_digest(),
        )

    def _require_work(self) -> _Work:
        if self._work is None:
            raise ProtocolError("nothing is answered before a plan was considered")
        return self._work


def _add_noise(left: UnansweredError) -> Integers:
    return left.grid.add_noise(left.grid.round(left.values))
