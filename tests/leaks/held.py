"""Just before the first thing leaves that a release itself holds of a private image: noised pixels, or a caption."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, TypeVar

from leaks.forgeries.forging import stored
from leaks.forgeries.receipts import receipted
from pcevolve.public.calls import Call
from pcevolve.public.release import Captioned, Choice, Chosen, Noised, Query, Receipt
from support.provider import FakeProvider
from support.runs import SmallRun

Kind = TypeVar("Kind", Noised, Captioned)


@dataclass
class Moment(Generic[Kind]):
    """An honest run that has released, and sent nothing of it yet.

    Attributes:
        run: The live parts.
        provider: Sees what leaves.
        receipt: Committed and on record.
        kind: Of what is held.
    """

    run: SmallRun
    provider: FakeProvider
    receipt: Receipt
    kind: type[Kind]

    @classmethod
    def of(cls, run: SmallRun, provider: FakeProvider, kind: type[Kind]) -> Moment[Kind]:
        """Release, and put it on record."""
        receipt = run.judge.release(Query(run.plan.run_id, 1), None)
        run.gate.record_receipt(receipt)
        return cls(run, provider, receipt, kind)

    @property
    def label(self) -> str:
        return self.run.plan.labels[0]

    @property
    def call(self) -> Call:
        return next(iter(self.run.plan.round(1)))

    @property
    def honest(self) -> Kind:
        return self.kind(self.label, self.receipt.of(self.label)[0], self.receipt)

    def unchecked(self, item: Chosen, receipt: object, kind: type | None = None) -> object:
        """A source whose constructor nobody ran."""
        made = object.__new__(kind or self.kind)
        for name, value in (("label", self.label), ("item", item), ("receipt", receipt)):
            object.__setattr__(made, name, value)
        return made


def with_measurement(root: Path, measurement: bytes, choices: tuple[Choice, ...]) -> None:
    """A receipt whose measurement is what a forger likes, with names to match, and the requests as they were."""
    digest, named = stored(root, measurement), [asdict(each) for each in choices]
    receipted(lambda receipt: receipt.update(measured=digest, choices=named))(root)
