"""Finished runs as values: ``Result``, which ``load`` reads from a run's folder, and its images.

>>> run = load(RUN)
>>> run.labels, run.epsilon
(('cut', 'good'), 10.0)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pcevolve.app.interface.notebook import render_notebook
from pcevolve.app.interface.verifying import AuditResult, export, verify
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.figures import in_full
from pcevolve.public.media.images.decoding import DecodedImage, decode_picture
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.dataset import summarise
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import FinishedRun, RunReader


@dataclass(frozen=True)
class DatasetImage:
    """One image or text of a released dataset.

    Attributes:
        path: The PNG file, or the text file.
        id: The candidate's name in the record.
    """

    path: Path
    label: str
    id: str

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.path.read_bytes()

    @property
    def text(self) -> str:
        """The released text; ``UsageError`` if it is an image."""
        if not self._is_text:
            raise UsageError(f"{self.path} is an image: open() returns its pixels")
        return self.data.decode()

    @property
    def _is_text(self) -> bool:
        return self.path.suffix == ".txt"

    def open(self) -> DecodedImage:
        """Return the pixels, as a PIL image in RGB.

        Raises:
            UsageError: The item is a text.
            TranscriptError: The file is damaged.
        """
        if self._is_text:
            raise UsageError(f"{self.path} is a text: .text has it")
        pixels = decode_picture(self.data)
        if pixels is None:
            raise TranscriptError(
                f"{self.path} is not the image that was released: pcevolve.verify tells more"
            )
        return pixels


@dataclass(frozen=True, repr=False)
class Result:
    """A finished run.

    Attributes:
        folder: The run's folder; it may be shared as it is.
        summary: Figures for programs; after ``evolve`` also cost, seconds and accuracies.
    """

    folder: Path
    summary: Mapping[str, Any]
    _run: FinishedRun = field(compare=False)

    @classmethod
    def of(cls, folder: Path, known: Mapping[str, Any] | None = None) -> Result:
        """Read a finished run.

        Args:
            known: The summary of a run that was just made; None to compute it from the record.

        Raises:
            UsageError: The run is unfinished, or the folder has no run.
            TranscriptError: The run's record or manifest is damaged.
        """
        RunLayout(folder).require_transcript()
        record = RunReader.strict(folder)
        run = FinishedRun.of(record)
        figures = summarise(record, run.plan, len(run.manifest.files)) if known is None else known
        return cls(folder, dict(figures), run)

    @property
    def plan(self) -> PublicPlan:
        """The public plan of the run, which also lists the facts that are assumed to be public."""
        return self._run.plan

    @property
    def epsilon(self) -> float | None:
        """ε of the run for every unit of the private folder, at ``delta``; None for a run without a guarantee."""
        return self._run.manifest.guarantee.epsilon_spent

    @property
    def delta(self) -> float:
        """δ of the guarantee."""
        return self._run.manifest.guarantee.delta

    @property
    def marks(self) -> tuple[str, ...]:
        """Warnings about the run's privacy; empty for a run with its full guarantee."""
        return self._run.manifest.marks

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes, in the plan's order."""
        return self._run.plan.labels

    @cached_property
    def images(self) -> tuple[DatasetImage, ...]:
        """The dataset, in the manifest's order."""
        release = self._run.record.layout.release
        return tuple(
            DatasetImage(release / each.path, each.label, each.candidate) for each in self._run.manifest.files
        )

    @property
    def dataset(self) -> Path:
        """The release folder: class folders, as ``torchvision.datasets.ImageFolder`` and ``datasets`` load them."""
        return self._run.record.layout.release

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self._run.record.layout.report

    def export(self, form: str) -> Path:
        """Write the dataset in another form and return its folder: ``pcevolve.export`` for this run's folder."""
        return export(self.folder, form)

    def verify(
        self,
        *,
        capture: str | os.PathLike[str] | None = None,
        sources: Sequence[str | os.PathLike[str]] = (),
        encoder_weights: str | None = None,
        html: bool = False,
    ) -> AuditResult:
        """Check the run from its record: ``pcevolve.verify`` for this run's folder."""
        return verify(
            self.folder,
            capture=capture,
            sources=sources,
            encoder_weights=encoder_weights,
            html=html,
        )

    def __repr__(self) -> str:
        """Return one line, warnings first."""
        text = "".join(f"{mark}; " for mark in self.marks)
        promised = (
            "no guarantee"
            if self.epsilon is None
            else PrivacyLoss.of(self.plan, self._run.manifest.guarantee.events).say(digits=4)
        )
        if self.plan.promised_secrecy is not None:
            text += f"listed secrets {self.plan.promised_secrecy.words}; "
        items = self.plan.modality.nouns.count(len(self._run.manifest.files))
        count = f"{items} in {len(self.labels)} classes"
        return f"<Result: {text}{count}, {promised}, delta {in_full(self.delta)}, in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        """Return the notebook view: warnings, guarantee, and a contact sheet."""
        return render_notebook(self._run)


def load(run: str | os.PathLike[str]) -> Result:
    """Open a run that was finished earlier, by a program or by the command line.

    Raises:
        UsageError: The run is unfinished, or the folder has no run.
        TranscriptError: The run's record or manifest is damaged.
    """
    return Result.of(Path(run))
