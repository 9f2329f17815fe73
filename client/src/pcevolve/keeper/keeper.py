"""The keeper of a run's private data: answers the runner's messages, and decides all that depends on these data.

The keeper reads the data, makes the public plan from the owner's options, selects under differential
privacy, pays from the budget, and stores what is for the owner alone. The runner has the network. It sends
the keeper the run's id, the API's statements, and the digests of outputs. The keeper reads the outputs'
bytes from the record. See ``public.protocol`` for the messages.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pcevolve.errors import ProtocolError
from pcevolve.keeper.beginning import begin_afresh, note_private, open_account, open_ledger
from pcevolve.keeper.components import Components
from pcevolve.keeper.ledger.ledger import Account, Ledger
from pcevolve.keeper.padding import Padding, choose_tick, describe_padding, judge_padding
from pcevolve.keeper.planning import (
    NOTHING_EARLIER,
    keep_recorded,
    resolve_plan,
    settle_single,
)
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.calls import Call
from pcevolve.public.dialects import find_abilities
from pcevolve.public.durable import write_private
from pcevolve.public.loop.lineage import Judge, Lineage
from pcevolve.public.loop.usable import UsableRule
from pcevolve.public.modality import MODALITIES
from pcevolve.public.parts import Confinement, PriorReleases
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Chosen, Query, Receipt
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.owner import OwnerFolder
from pcevolve.public.screen import Fact
from pcevolve.public.selectors.choosing import Chooser
from pcevolve.public.selectors.usefulness import assess, separability
from pcevolve.public.transcript.chain import GENESIS, StoredFiles

LEAST_SEPARABLE = 0.1
"""The owner is warned if the first images separate the classes less than this (``separability``).

Below this value, images made from words alone were a good enough dataset in only 2 of 100 cases.
"""


@dataclass(repr=False)
class KnownRecord:
    """The facts about the record that an account needs; the runner reports the record's current end."""

    receipts: set[Receipt] = field(default_factory=set)
    head: str = GENESIS

    def has(self, receipt: Receipt) -> bool:
        return receipt in self.receipts


@dataclass(frozen=True, repr=False)
class Selection:
    """The state of selection once the plan is agreed on."""

    lineage: Lineage
    chooser: Chooser | None
    judge: Judge
    paid: dict[int, Receipt]


class Keeper:
    """One run's private side, with one method per message."""

    def __init__(self, run: CheckedRun, screen: OwnerScreen, confinement: Confinement | None = None) -> None:
        """Read the private data, and make the choices that depend on public sizes.

        Args:
            confinement: What keeps this process from the network; None if only its own code does.

        Raises:
            DataError: The private or the test data cannot be used.
            UsageError: The API's dialect lacks a capability, or options contradict each other.
        """
        # First, because the padding of the first answer counts from here.
        self._began = time.monotonic()
        self._folder, self._screen, self._confinement = run.folder, screen, confinement
        made = MODALITIES[find_abilities(run.settings.provider.dialect).makes]
        with screen.show_work(f"reading private {made.nouns.many}") as show_progress:
            self.components = Components.of(run, show_progress)
        settings = self.components.settings
        self._padding = Padding(choose_tick(settings.privacy.pad_selection, self.components.pairs))
        self._open = ExitStack()
        self._bodies = StoredFiles(run.folder.bodies)
        self._record = KnownRecord()
        self._begun: PublicPlan | None = None
        self._run_id = ""
        self._earlier: PriorReleases = NOTHING_EARLIER
        self._account: Account | None = None
        self._has_draft = False
        self._plan: PublicPlan | None = None
        self._selection: Selection | None = None

    def prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        """Check that the budget covers the whole plan, and embed the private images, before the API is contacted.

        Nothing here depends on the size of the API's images, which is known only after that contact. Facts
        about ledger and data go to the owner alone. The answer is delayed until a whole number of ticks has
        passed since this keeper began to read.

        Raises:
            BudgetError: Too little of the budget is left.
            DataError: A private image has no embedding.
            LedgerError: Folder and ledger disagree, or this ledger cannot pay for the run.
            ModelError: The encoder cannot be loaded.
        """
        # Only once: an answer takes whole ticks, and repeated answers would show the time more precisely.
        if self._account is not None:
            raise ProtocolError("a run can be prepared only once")
        with self._padding.section(self._began):
            return self._prepare(asked)

    def _prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        components, screen = self.components, self._screen
        self._run_id = asked.run_id
        # A placeholder size: the true one is known after the first contact, and no price depends on it.
        plan = resolve_plan(components, asked.run_id)
        self._account = account = open_account(components, plan, self._open_ledger(), self._record)
        # The whole plan, before the provider hears of it: a later refusal would reveal earlier runs on these
        # data.
        self._require_budget(account, plan)
        many = MODALITIES[components.dialect.makes].nouns.many
        with screen.show_work(f"embedding private {many}") as show_progress:
            components.prepare(plan, show_progress)
        # Earlier releases to the provider, counted when the run began; a resumed run does not count again.
        if components.method.queries_data:
            self._earlier = account.earlier() if self._begun is None else self._begun.earlier
        plan = plan.model_copy(update={"earlier": self._earlier})
        tick = self._padding.tick
        time = Fact("time", describe_padding(tick), "" if tick else None)
        notes = [*note_private(components, plan, account), time]
        screen.print_facts(notes)
        return protocol.Prepared(method_reason=components.reason, encoder_reason=components.encoder_reason)

    def settle(self, statement: protocol.Settle) -> protocol.Settled:
        """Make the public plan from the owner's options and the API's statements.

        Raises:
            UsageError: An option is out of bounds.
        """
        if not self._run_id or self._selection is not None:
            raise ProtocolError("a plan can be made only after a run is prepared and before the run begins")
        plan = resolve_plan(self.components, self._run_id, statement, self._earlier)
        plan = plan.model_copy(update={"confinement": self._confinement})
        plan = keep_recorded(self._begun, plan, self.components.settings)
        if self._begun is None and not statement.takes_several:
            plan = settle_single(self.components, plan)
        self._plan = plan
        return protocol.Settled(plan=plan)

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        """Enter the run in the ledger. The time depends on the ledger's size, so it is padded to whole ticks."""
        plan, account = self._plan, self._account
        # Compared by digest, so that the runner carries out exactly the plan that the owner agreed to.
        if plan is None or account is None or protocol.digest_plan(plan) != asked.plan:
            raise ProtocolError("a run must begin with the last plan that was made")
        with self._padding.section():
            if self._has_draft:  # the ledger does not exist yet
                account = open_account(self.components, plan, self._make_ledger(), self._record)
                self._account = account
            # Checked again: while the owner was asked, another run may have begun, or a cap been set.
            self._require_budget(account, plan)
            # Only now, because there is no run to resume before the owner has agreed.
            self._owner().keep_options(self.components.settings)
            account.enrol()
            receipts = account.receipts()
        chooser = self.components.chooser(plan, self._bodies.file)
        rule = UsableRule(plan, self._bodies.file)
        self._selection = Selection(
            Lineage(plan, rule.identify, rule.is_enough),
            chooser,
            self.components.judge(plan, account, chooser),
            {each.iteration: each for each in receipts},
        )
        return protocol.Begun(receipts=receipts)

    def compare(self, asked: protocol.Compare) -> protocol.Compared:
        """Warn the owner if the prompts of different classes give similar images or texts."""
        chooser = self._require_selection().chooser
        if chooser is not None:
            found = separability([chooser.embed([Chosen("", each) for each in own]) for own in asked.classes])
            if found is not None and found < LEAST_SEPARABLE:
                many = MODALITIES[self.components.dialect.makes].nouns.many
                self._screen.print(
                    f"NOTE: words alone are not enough here: {many} of different classes look alike"
                )
        return protocol.Compared()

    def made(self, outputs: protocol.Made) -> None:
        """Register a call's outputs, and embed them if a release will compare them."""
        selection = self._require_selection()
        lineage = selection.lineage
        if not lineage.answers:  # the plan is on record by now
            self._owner().bind()
        call = lineage.plan.calls.get(outputs.slot)
        # Each call once, so that a runner cannot replace candidates until the choice suits it.
        if call is None or outputs.slot in lineage.answers:
            raise ProtocolError(f"the plan has no open call {outputs.slot[:40]!a}")
        made = self._name(lineage, call, outputs.digests)
        lineage.note(call, made)
        # The ledger answers a release that was already paid for, so nothing is compared.
        if selection.chooser is not None and call.iteration + 1 not in selection.paid:
            selection.chooser.receive(call, made)

    def show(self, asked: protocol.Show) -> protocol.Shown:
        """Do the public part of the work for a release; see ``lineage.Judge``."""
        selection = self._require_selection()
        query, pool = self._query(asked.iteration), selection.lineage.pool(asked.iteration)
        selection.judge.show(query, pool)
        return protocol.Shown()

    def release(self, asked: protocol.Release) -> protocol.Released:
        """Select the prototypes of a round and pay for them; the time is padded to whole ticks.

        Errors as in ``lineage.Judge.release``.
        """
        selection, account = self._require_selection(), self._account
        assert account is not None
        query, pool = self._query(asked.iteration), selection.lineage.pool(asked.iteration)
        # Stored with the payment, so that another copy of the record cannot use this release.
        self._record.head = asked.head
        with self._padding.section():
            receipt = selection.judge.release(query, pool)
            measured = account.read_measured(asked.iteration) if receipt.measured else b""
        self._record.receipts.add(receipt)
        selection.paid[receipt.iteration] = receipt
        selection.lineage.receipts.append(receipt)
        return protocol.Released(receipt=receipt, measurement=base64.b64encode(measured))

    def assess(self, _asked: protocol.Assess) -> protocol.Assessed:
        """Assess the dataset's usefulness from measurements that are already paid for; empty if they are not enough."""
        selection = self._require_selection()
        lineage, chooser = selection.lineage, selection.chooser
        waits = lineage.find_end() is None and lineage.list_missing(None)
        if waits or lineage.find_next() is not None:
            raise ProtocolError("there is no dataset to assess, because the plan is not complete")
        if chooser is None:
            return protocol.Assessed()
        receipts, dataset = lineage.receipts, lineage.dataset()
        return protocol.Assessed(
            assessment=assess(chooser, receipts, lineage.pools.__getitem__, dataset, self._bodies.file)
        )

    def finish(self, result: protocol.Finish) -> protocol.Done:
        """Store the run's figures for the owner alone."""
        # Beside the ledger, not in the run's folder, because that folder may be shared.
        write_private(self._owner().result, result.figures)
        return protocol.Done()

    def close(self, _asked: protocol.Close = protocol.Close()) -> None:  # noqa: B008 - frozen
        """Report whether private work fitted into its ticks, and close the ledger."""
        padding = self._padding
        if self._selection is not None and self._selection.lineage.answers:
            kept = judge_padding(padding.longest, padding.tick)
            if self._screen.verbose or kept.startswith("WARNING"):
                # Always reported, because the provider could see that a section took longer than its tick.
                self._screen.print(kept)
        self._open.close()

    def _require_budget(self, account: Account, plan: PublicPlan) -> None:
        account.require(
            [event for each in self.components.method.plan_events(plan).values() for event in each]
        )

    def _owner(self) -> OwnerFolder:
        return OwnerFolder.of(self._folder.root, self._path)

    @property
    def _path(self) -> Path:
        return self.components.settings.privacy.ledger

    def _open_ledger(self) -> Ledger:
        """Open the ledger, and check that it agrees with the record of a run that has begun."""
        folder, begun = self._folder, self._folder.has_plan()
        path, room = self._path, Path(self._open.enter_context(TemporaryDirectory()))
        ledger = open_ledger(path, begun, self._screen.print, room)
        self._open.enter_context(closing(ledger))
        self._has_draft = ledger.path != path
        if begun:
            self._go_on(ledger)
        else:
            begin_afresh(folder, ledger, path)
        return ledger

    def _make_ledger(self) -> Ledger:
        """Create the real ledger; it replaces the draft."""
        self._has_draft = False
        return self._open.enter_context(closing(Ledger(self._path, waiting=self._screen.print)))

    def _go_on(self, ledger: Ledger) -> None:
        """Load the plan and the receipts of a run that has begun."""
        from pcevolve.keeper.continuity import require_agreement  # loads all code that reads a record

        run = require_agreement(self._folder, ledger)
        self._begun = run.plan
        self._record.receipts.update(run.receipts)
        self._record.head = run.head

    def _name(self, lineage: Lineage, call: Call, digests: Sequence[str]) -> tuple[Candidate, ...]:
        """Assign ids to the candidates, with the same rule as the runner."""
        if len(digests) != call.count:
            raise ProtocolError(f"call {call.slot} must bring {call.count} outputs")
        source = lineage.source(call)
        parent = None if source is None else source.candidate.id
        return tuple(
            Candidate(call.output(place), call.label, call.iteration, parent, digest)
            for place, digest in enumerate(digests)
        )

    def _require_selection(self) -> Selection:
        if self._selection is None:
            raise ProtocolError("nothing is selected before the run begins")
        return self._selection

    def _query(self, iteration: int) -> Query:
        """Return the query for the plan's next release; all its candidates must be there."""
        lineage = self._require_selection().lineage
        # In the plan's order: a release out of turn would be drawn among candidates that the plan does not
        # name.
        if iteration != lineage.find_next():
            raise ProtocolError(f"release {iteration} is not the next one in the plan")
        if missing := lineage.list_missing(lineage.find_due()):
            raise ProtocolError(f"release {iteration} needs the outputs of call {missing[0]}")
        return Query(lineage.plan.run_id, iteration)
