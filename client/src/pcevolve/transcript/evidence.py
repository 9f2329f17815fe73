"""What an auditor starts from: the chain of records, verified."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pcevolve.errors import TranscriptError
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.transcript.bodies import Bodies
from pcevolve.transcript.log import BODIES, LOG, Entry, files_of, plan_of, read
from pcevolve.transcript.records import Answered, Finished, Opened, Received, Released, Sent
from pcevolve.transcript.tree import odd_entries


@dataclass(frozen=True)
class Evidence:
    """A run's public records; opening them verifies the chain."""

    root: Path
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, root: Path) -> Evidence:
        """Read a run.

        Raises:
            TranscriptError: There is no transcript, its chain is broken, or what lies there is no plain file or folder.
        """
        for fault in odd_entries(root, "transcript"):
            raise TranscriptError(fault)
        entries = tuple(read(root / "transcript"))
        if not entries or not isinstance(entries[0].record, Opened):
            raise TranscriptError(f"{root} holds no run: its transcript does not begin with an opening line")
        return cls(root, entries)

    @property
    def folder(self) -> Path:
        """The transcript's folder."""
        return self.root / "transcript"

    @property
    def release(self) -> Path:
        """The dataset's folder."""
        return self.root / "release"

    @cached_property
    def bodies(self) -> Bodies:
        """What crossed the wire."""
        return Bodies(self.folder / BODIES)

    @cached_property
    def opened(self) -> Opened:
        """The opening line."""
        record = self.entries[0].record
        assert isinstance(record, Opened)
        return record

    @cached_property
    def plan(self) -> PublicPlan | None:
        """The plan, if the run came that far."""
        return plan_of(self.entries)

    @cached_property
    def finished(self) -> bool:
        """Whether the run was closed."""
        return isinstance(self.entries[-1].record, Finished)

    @cached_property
    def receipts(self) -> tuple[Receipt, ...]:
        """All releases on record, in order."""
        return tuple(each.record.receipt for each in self.entries if isinstance(each.record, Released))

    @cached_property
    def outputs(self) -> dict[str, tuple[str, ...]]:
        """Digests of what each call of the plan brought, in order."""
        found = (each.record for each in self.entries if isinstance(each.record, Received))
        return {each.slot: each.outputs for each in found}

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(isinstance(each.record, Sent) for each in self.entries)

    @property
    def bodies_on_record(self) -> int:
        """How many requests and answers there are."""
        return sum(isinstance(each.record, Sent | Answered) for each in self.entries)

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the transcript that a line refers to, and its log."""
        named = (name for each in self.entries for name in files_of(each.record))
        return frozenset(f"{BODIES}/{name}" for name in named) | {LOG}
