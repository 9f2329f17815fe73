"""The coordinator's process, which has no private data: makes the plan, and sums the owners' answers.

The coordinator takes the place of a keeper. It needs no ledger, because each owner's ledger holds that
owner's answers. An owner repeats its answer when asked again, so a release that a crash interrupted is
rebuilt bit for bit.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from pcevolve.errors import ProtocolError, UsageError
from pcevolve.keeper.keeper import Keeper, Selection
from pcevolve.keeper.planning import resolve_plan
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private_data import RunData
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.clinics import messages
from pcevolve.public.clinics.owners import SUMS
from pcevolve.public.clinics.roster import Roster
from pcevolve.public.clinics.summing import Summing
from pcevolve.public.config.data_source import find_roster
from pcevolve.public.loop.lineage import Lineage, Pool
from pcevolve.public.loop.usable import UsableRule
from pcevolve.public.parts import Confinement
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.transcript.log import read
from pcevolve.public.transcript.records import Planned, RecordedRelease


def stand_in(path: Path, kind: str) -> RunData:
    """Return an empty dataset with the roster's classes and kind of unit."""
    roster = Roster.read(path)
    nobody = np.empty(0, dtype=np.int64)
    empty = PrivateDataset(tuple(sorted(roster.labels)), (), nobody, (), unit_name=roster.unit or kind)
    return RunData(empty, None, noise_factor=roster.clinics.noise_factor)


@dataclass(frozen=True)
class _Adding:
    """A judge whose releases are sums; see ``Coordinator.add``."""

    summing: Summing

    def show(self, query: Query, pool: Pool) -> None:
        """Compute the frame of a release, which is public work."""
        if query.iteration:
            _ = self.summing.join(query.iteration, pool).coordinates

    def release(self, query: Query, pool: Pool) -> NoReturn:
        """Refuse: nothing is released without the owners' answers."""
        raise ProtocolError("a release of several owners is summed, not drawn")


class Coordinator(Keeper):
    """The side of a run that has no private data, with one method per message of the runner."""

    def __init__(self, run: CheckedRun, screen: OwnerScreen, confinement: Confinement | None = None) -> None:
        """Read the roster.

        Raises:
            UsageError: The method's releases are not sums, or the run has a noise seed; nothing was sent.
        """
        super().__init__(run, screen, confinement)
        roster = find_roster(run.settings.data.private)
        assert roster is not None
        self._owners = Roster.read(roster).clinics
        name = self.components.method.name
        if name not in SUMS:
            raise UsageError(
                f"--method {name}: its releases are not sums, so several owners cannot make them "
                f"together: choose {', '.join(SUMS)}; nothing was sent"
            )
        if run.settings.privacy.insecure_noise_seed is not None:
            raise UsageError(
                "privacy.insecure_noise_seed cannot be used, because the owners draw the noise: leave it out"
            )
        self._recorded: dict[int, Receipt] = {}
        self._summing: Summing | None = None

    def __repr__(self) -> str:
        return "Coordinator"

    def _prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        components, self._run_id = self.components, asked.run_id
        if self._folder.has_plan():
            for entry in read(self._folder.transcript):
                if isinstance(entry.record, Planned):
                    self._begun = entry.record.plan
                if isinstance(entry.record, RecordedRelease):
                    self._recorded[entry.record.receipt.iteration] = entry.record.receipt
        else:
            self._folder.refuse_strange_release()
        # Priced before the API is first contacted, so that a refusal sends nothing.
        self._add_owners(resolve_plan(components, asked.run_id))
        _ = components.encoder
        return protocol.Prepared(method_reason=components.reason, encoder_reason=components.encoder_reason)

    def settle(self, statement: protocol.Settle) -> protocol.Settled:
        """Make the public plan, which names the owners."""
        self._plan = self._add_owners(super().settle(statement).plan)
        return protocol.Settled(plan=self._plan)

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        """Begin with the last settled plan, or resume from the record."""
        plan = self._plan
        if plan is None or protocol.digest_plan(plan) != asked.plan:
            raise ProtocolError("a run must begin with the last plan that was made")
        self._owner().keep_options(self.components.settings)
        chooser = self.components.chooser(plan, self._bodies.file)
        assert chooser is not None
        self._summing = Summing(plan, chooser)
        rule = UsableRule(plan, self._bodies.file)
        lineage = Lineage(plan, rule.identify, rule.is_enough)
        self._selection = Selection(lineage, chooser, _Adding(self._summing), self._recorded)
        return protocol.Begun(receipts=tuple(self._recorded[each] for each in sorted(self._recorded)))

    def ask(self, asked: messages.Ask) -> messages.Asked:
        """Return the next question to the owners for a release."""
        summing, lineage = self._require_summing(), self._require_selection().lineage
        query = self._query(asked.iteration)
        pool = lineage.pool(query.iteration)
        return messages.Asked(question=summing.ask(query.iteration, pool, asked.head, asked.exchanges))

    def add(self, asked: messages.Add) -> protocol.Released:
        """Make a release from the owners' answers, or return the recorded one.

        Raises:
            ProtocolError: An answer is not from its owner, or the sum is invalid; nothing is released.
        """
        summing, selection = self._require_summing(), self._require_selection()
        query, lineage = self._query(asked.iteration), selection.lineage
        receipt, measured, pool = self._recorded.get(query.iteration), b"", lineage.pool(query.iteration)
        if receipt is None:
            receipt, measured = summing.release(query.iteration, pool, asked.head, asked.exchanges)
        elif receipt.measured:
            measured = self._bodies.file(receipt.measured)
        summing.note(receipt, measured)
        lineage.receipts.append(receipt)
        return protocol.Released(receipt=receipt, measurement=base64.b64encode(measured))

    def release(self, _asked: protocol.Release) -> NoReturn:
        """Refuse: nothing is released without the owners' answers."""
        raise ProtocolError("a release of several owners is summed, not drawn")

    def _add_owners(self, plan: PublicPlan) -> PublicPlan:
        values = {**plan.model_dump(), "clinics": self._owners.model_dump()}
        try:
            return PublicPlan.model_validate(values)
        except ValueError as error:
            raise UsageError(f"not a plan of several owners: {error}") from None

    def _require_summing(self) -> Summing:
        if self._summing is None:
            raise ProtocolError("nothing is summed before the run begins")
        return self._summing
