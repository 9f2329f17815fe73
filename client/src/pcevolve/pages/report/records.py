"""What the page is made from: a finished run's transcript and manifest. Opens nothing else of the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.privacy import Relation
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.publish.dataset import MANIFEST
from pcevolve.transcript.bodies import Bodies, Digest
from pcevolve.transcript.log import BODIES, Entry, plan_of, read
from pcevolve.transcript.records import Received, Released


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Guarantee(_Part):
    """What the manifest promises; nothing where ``epsilon_spent`` is None, for an INSECURE run."""

    epsilon_budget: float
    epsilon_spent: float | None
    delta: float
    relation: Relation
    unit: str
    statement: str
    assumed_public: tuple[str, ...]


class Anchor(_Part):
    """Where the manifest says that the transcript ends."""

    head: Digest
    lines: int


class Listed(_Part):
    """A released image."""

    path: str
    candidate: str


class Manifest(_Part):
    """The parts of ``release/manifest.json`` that the page shows."""

    marks: tuple[str, ...]
    guarantee: Guarantee
    transcript: Anchor
    files: tuple[Listed, ...]
    unreadable: tuple[str, ...]


@dataclass(frozen=True)
class RunRecords:
    """A finished run's public records."""

    bodies: Bodies
    entries: tuple[Entry, ...]
    plan: PublicPlan
    manifest: Manifest

    @classmethod
    def of(cls, root: Path) -> RunRecords:
        """Read a run.

        Raises:
            UsageError: The run is unfinished, so its record has no end yet that anything could be said about.
            TranscriptError: The transcript or the manifest is damaged.
        """
        folder = root / "transcript"
        entries = tuple(read(folder))
        plan = plan_of(entries)
        manifest = root / "release" / MANIFEST
        if plan is None or not manifest.is_file():
            raise UsageError(
                f"{root} holds an unfinished run: continue it with --resume, then ask for a report"
            )
        return cls(Bodies(folder / BODIES), entries, plan, _manifest(manifest))

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Receipts by the iteration whose requests they allow."""
        found = (each.record.receipt for each in self.entries if isinstance(each.record, Released))
        return {each.iteration: each for each in found}

    @cached_property
    def outputs(self) -> dict[str, tuple[str, ...]]:
        """Digests of what each call of the plan brought, in order."""
        found = (each.record for each in self.entries if isinstance(each.record, Received))
        return {each.slot: each.outputs for each in found}


def _manifest(path: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise TranscriptError(f"{path.name} is damaged: run pcevolve audit to learn more") from error
