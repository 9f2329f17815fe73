"""A finished run as a value: its images, its promise, its pages; read from what may be shared of its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pcevolve.errors import TranscriptError
from pcevolve.interface.questions import AuditResult, audit
from pcevolve.modality.images.decoding import DecodedImage, decode_picture
from pcevolve.pages.notebook import render_notebook
from pcevolve.pages.report import FinishedRun
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.dataset import summarise
from pcevolve.publish.exports import export_run
from pcevolve.transcript import RunLayout, RunReader


@dataclass(frozen=True)
class DatasetImage:
    """One image of a released dataset.

    Attributes:
        path: The PNG.
        id: The candidate's name on record.
    """

    path: Path
    label: str
    id: str

    @property
    def data(self) -> bytes:
        """The file."""
        return self.path.read_bytes()

    def open(self) -> DecodedImage:
        """The pixels, as a PIL image in RGB; ``TranscriptError`` if it is no image any more."""
        pixels = decode_picture(self.data)
        if pixels is None:
            raise TranscriptError(
                f"{self.path} is not the image that was released: pcevolve.audit tells more"
            )
        return pixels


@dataclass(frozen=True, repr=False)
class Result:
    """A finished run.

    Attributes:
        folder: Where it lies; ``release``, ``transcript`` and the pages beside them may be shared.
        summary: Figures for programs; of a run that was just made also its cost, seconds and accuracies.
    """

    folder: Path
    summary: Mapping[str, Any]
    _run: FinishedRun = field(compare=False)

    @classmethod
    def of(cls, folder: Path, told: Mapping[str, Any] | None = None) -> Result:
        """Read a finished run.

        Args:
            told: The summary of a run that was just made; made anew from the record if None.

        Raises:
            UsageError: The run is unfinished, or it is none.
            TranscriptError: Its record or manifest is damaged.
        """
        RunLayout(folder).require_transcript()
        record = RunReader.strict(folder)
        run = FinishedRun.of(record)
        figures = summarise(record, run.plan, len(run.manifest.files)) if told is None else told
        return cls(folder, dict(figures), run)

    @property
    def plan(self) -> PublicPlan:
        """The public plan of the run, and with it what is assumed to be public."""
        return self._run.plan

    @property
    def epsilon(self) -> float | None:
        """ε that the run spent, at ``delta``; None for a run that promises nothing."""
        return self._run.manifest.guarantee.epsilon_spent

    @property
    def delta(self) -> float:
        """δ of the promise."""
        return self._run.manifest.guarantee.delta

    @property
    def marks(self) -> tuple[str, ...]:
        """Reasons to doubt the run's privacy as such; empty for a run that keeps its promise."""
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
            DatasetImage(release / each.path, each.path.rpartition("/")[0], each.candidate)
            for each in self._run.manifest.files
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
        """Write the dataset as ``parquet`` or ``webdataset`` (else ``UsageError``) and return its folder."""
        return export_run(self.folder, [form])[0]

    def audit(
        self,
        *,
        capture: str | os.PathLike[str] | None = None,
        rewriter_capture: str | os.PathLike[str] | None = None,
        encoder_weights: str | None = None,
        html: bool = False,
    ) -> AuditResult:
        """Check the run from its record: ``pcevolve.audit`` of its folder."""
        return audit(
            self.folder,
            capture=capture,
            rewriter_capture=rewriter_capture,
            encoder_weights=encoder_weights,
            html=html,
        )

    def __repr__(self) -> str:
        """One line, the marks first."""
        said = "".join(f"{mark}; " for mark in self.marks)
        promised = "no guarantee" if self.epsilon is None else f"epsilon {self.epsilon:.4g}"
        if self.plan.promised_secrecy is not None:
            said += f"listed secrets {self.plan.promised_secrecy.words}; "
        count = f"{len(self._run.manifest.files)} images in {len(self.labels)} classes"
        return f"<Result: {said}{count}, {promised}, delta {self.delta:g}, in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: marks, promise, and a contact sheet."""
        return render_notebook(self._run)


def load(run: str | os.PathLike[str]) -> Result:
    """Open a run that was finished earlier, here or by the command line.

    Raises:
        UsageError: The run is unfinished, or it is none.
        TranscriptError: Its record or manifest is damaged.
    """
    return Result.of(Path(run))
