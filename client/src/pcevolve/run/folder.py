"""The folder of a run: who may see what, and who may write.

``release/`` and ``transcript/`` may be shared. ``private/`` is for the owner alone. Nothing is ever overwritten.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.transcript.log import LOG, plan_of, read

SUMMARY = "summary.json"


@dataclass(frozen=True)
class RunFolder:
    """Paths of one run."""

    root: Path

    @property
    def config(self) -> Path:
        """The resolved options."""
        return self.root / "config.toml"

    @property
    def transcript(self) -> Path:
        """Everything that crossed the wire."""
        return self.root / "transcript"

    @property
    def release(self) -> Path:
        """The synthetic dataset."""
        return self.root / "release"

    @property
    def private(self) -> Path:
        """What must never be shared."""
        return self.root / "private"

    @property
    def summary(self) -> Path:
        """Figures of the run, for programs: a function of the transcript."""
        return self.root / SUMMARY

    @property
    def result(self) -> Path:
        """What the owner was told in the end, accuracy on private data included; never shared."""
        return self.private / "result.json"

    @property
    def report(self) -> Path:
        """Pictures and figures of the run, for people: a function of the transcript."""
        return self.root / "report.html"

    @property
    def finished(self) -> bool:
        """Whether the dataset is there."""
        return self.release.is_dir()

    @contextmanager
    def claimed(self, resume: bool) -> Iterator[None]:
        """Make the folder, or take over the run in it, and keep other processes out.

        Raises:
            UsageError: Something is there that must not be overwritten, or another process is at work.
        """
        self.refuse_overwriting(resume)
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._clear_false_start()
            self.private.mkdir(mode=0o700, exist_ok=True)
            yield
        except BlockingIOError as error:
            raise UsageError(f"another process is at work in {self.root}: wait for it to end") from error
        finally:
            os.close(descriptor)

    def refuse_overwriting(self, resume: bool) -> None:
        """Refuse a folder that holds something else, or a run that is not to be resumed.

        Raises:
            UsageError: Something is there that must not be overwritten.
        """
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            raise UsageError(f"{self.root} is not a folder: choose another --out")
        if not self.root.is_dir() or not any(self.root.iterdir()):
            return
        ours = self.config.exists() or (self.root / ".lock").exists()
        if not ours:
            raise UsageError(
                f"{self.root} holds something else: choose another --out; nothing was overwritten"
            )
        if not resume and self.has_plan():
            state = (
                "is a finished run:"
                if self.finished
                else "holds an unfinished run: continue it with --resume, or"
            )
            raise UsageError(f"{self.root} {state} choose another --out; nothing was overwritten")

    def has_plan(self) -> bool:
        """Whether the run in it has begun: its plan is fixed, and it may have paid for something."""
        if not (self.transcript / LOG).exists():
            return False
        return plan_of(read(self.transcript)) is not None

    def _clear_false_start(self) -> None:
        """A run that never fixed its plan has sent no prompt and paid nothing: begin afresh."""
        if not self.has_plan():
            shutil.rmtree(self.transcript, ignore_errors=True)
            self.config.unlink(missing_ok=True)
