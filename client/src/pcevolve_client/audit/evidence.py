"""What an auditor starts from: the chain of records, verified, and the manifest that anchors its end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..egress.bodies import Bodies
from ..egress.records import Answered, Finished, Opened, Received, Released, Sent
from ..egress.transcript import BODIES, LOG, Entry, files_of, plan_of, read
from ..errors import TranscriptError
from ..plan import PublicPlan
from ..publish import MANIFEST
from ..release import Receipt


@dataclass(frozen=True)
class Evidence:
    """A run's public records; opening them verifies the chain."""

    root: Path
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, root: Path) -> Evidence:
        """Read a run.

        Raises:
            TranscriptError: There is no transcript, or its chain is broken.
        """
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

    @cached_property
    def manifest(self) -> dict[str, Any] | None:
        """The release's manifest; None for an unfinished run.

        Raises:
            TranscriptError: It is there but damaged.
        """
        path = self.release / MANIFEST
        if not path.exists():
            return None
        try:
            loaded: dict[str, Any] = json.loads(path.read_bytes())
        except ValueError as error:
            raise TranscriptError(f"{path.name} is damaged") from error
        if not isinstance(loaded, dict) or not {"plan", "guarantee", "transcript", "files"} <= loaded.keys():
            raise TranscriptError(f"{path.name} is damaged")
        return loaded

    @property
    def bodies_on_record(self) -> int:
        """How many requests and answers there are."""
        return sum(isinstance(each.record, Sent | Answered) for each in self.entries)

    def stray_files(self) -> list[str]:
        """Files in the transcript that no line refers to."""
        known = {f"{BODIES}/{name}" for each in self.entries for name in files_of(each.record)} | {LOG}
        found = (path for path in self.folder.rglob("*") if not path.is_dir() or path.is_symlink())
        return sorted({path.relative_to(self.folder).as_posix() for path in found} - known)
