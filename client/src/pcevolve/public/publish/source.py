"""A release that another run starts from: its images, and the statements about it that the other run's plan must make.

The process that begins such a run uses this module, and so does an audit of the run, so that both agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.canonical import find_value
from pcevolve.public.parts import Start
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.chain import MOST_BYTES
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import FinishedRun, RunReader
from pcevolve_shared.reading import read_file

KEPT: Final = (
    "provider.dialect", "provider.model", "provider.answered_by", "provider.image_hosts",
    "provider.workflow", "provider.prompt_template", "modality", "method.min_usable", "data", "labels",
    "unit", "namespaced", "privacy", "encoder.name", "encoder.weights", "noise", "earlier", "secrecy",
    "clinics",
)  # fmt: skip
"""Fields that a plan copies from the run whose release it starts from: settings of requests, and promises."""


@dataclass(frozen=True)
class SourceRun:
    """A finished run whose release another run starts from.

    Attributes:
        files: For each class, in the plan's order, the released files in the manifest's order.
    """

    run: FinishedRun
    files: tuple[tuple[bytes, ...], ...]

    @classmethod
    def at(cls, root: Path) -> SourceRun:
        """Read the release of a run.

        Raises:
            UsageError: The run is unfinished, or a class of its release has no image.
            TranscriptError: Record, manifest or an image is damaged, or they do not belong together.
        """
        RunLayout(root).require_transcript()
        run = FinishedRun.of(RunReader.strict(root))
        if run.manifest.guarantee.events != run.record.events:
            raise TranscriptError(
                f"{root}: the release is not of the record beside it; pcevolve audit tells more"
            )
        files = {label: tuple(_read(run, label)) for label in run.plan.labels}
        if empty := [label for label, of_class in files.items() if not of_class]:
            kind = run.plan.modality.kind
            raise UsageError(f"{root}: its release has no {kind} of class {empty[0]!r} that could be varied")
        return cls(run, tuple(files.values()))

    @cached_property
    def manifest(self) -> str:
        """SHA-256, hex, of the release's manifest."""
        return hashlib.sha256(self.run.record.layout.manifest.read_bytes()).hexdigest()

    def describe(self, strength: float | None) -> Start:
        """Return a plan's statement about the release, given the strength of its variations."""
        images = tuple(
            tuple(hashlib.sha256(each).hexdigest() for each in of_class) for of_class in self.files
        )
        return Start(manifest=self.manifest, images=images, strength=strength, events=self.run.record.events)

    def find_differences(self, plan: PublicPlan) -> Iterator[str]:
        """Yield each difference between this release and the statement in a plan that starts from it."""
        if plan.start != self.describe(None if plan.start is None else plan.start.strength):
            yield "the plan names other images, or another cost, than the release has"
        for name in KEPT:
            if find_value(plan, name) != find_value(self.run.plan, name):
                yield f"the plan has another {name} than the run of the release"


def _read(run: FinishedRun, label: str) -> Iterator[bytes]:
    for each in run.manifest.files:
        if each.label == label:
            path = run.record.layout.release / each.path
            try:
                data = read_file(path, MOST_BYTES)
            except OSError as error:
                raise TranscriptError(f"{path} cannot be read: {error.strerror}") from error
            if hashlib.sha256(data).hexdigest() != each.sha256:
                raise TranscriptError(f"{path} is not the file that was released; pcevolve audit tells more")
            yield data
