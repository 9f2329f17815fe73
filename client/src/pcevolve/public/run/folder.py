"""The folder of a run, which may be shared as it is, and its lock. Nothing is ever overwritten."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.options import spell_flag
from pcevolve.public.durable import NO_TIME, settle
from pcevolve.public.transcript.chain import has_ended, has_plan
from pcevolve.public.transcript.layout import MADE, TRANSCRIPT, RunLayout, not_a_run

LOST = "without it this run cannot go on: what it spent stays spent, and a new one needs another {out}"


@dataclass(frozen=True)
class RunFolder(RunLayout):
    """The folder of a run that this process makes or takes over."""

    @property
    def finished(self) -> bool:
        """True if the dataset is released."""
        return self.release.is_dir()

    @contextmanager
    def claim(self, resume: bool) -> Iterator[None]:
        """Make the folder, or take over the run in it, and lock it for this process (else ``UsageError``)."""
        self.refuse_overwriting(resume)
        self.root.mkdir(parents=True, exist_ok=True)
        with self._lock():
            yield

    @contextmanager
    def hold(self, *, as_found: bool = False) -> Iterator[None]:
        """Lock the folder while something is written beside a record.

        ``as_found`` leaves the folder as it is for an audit, which reports on its files.
        """
        self.require_transcript()
        with self._lock(as_found):
            yield

    def is_held(self) -> bool:
        """True if another process holds the folder's lock; creates nothing."""
        try:
            descriptor = os.open(self.lock, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @contextmanager
    def _lock(self, as_found: bool = False) -> Iterator[None]:
        # The lock is a file that stays: to remove it would let a third process lock another one of that name.
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                # Without waiting: two runs in one folder are a mistake, and the second should say so.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process is using {self.root}: wait for it to end") from None
            for name in () if as_found else MADE:
                settle(self.root / name)
            yield
        finally:
            os.close(descriptor)

    def refuse_overwriting(self, resume: bool) -> None:
        """Refuse a folder with other contents, or with a run that is not to be resumed (``UsageError``)."""
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            raise UsageError(not_a_run(self.root, f"it is not a folder: choose another {spell_flag('out')}"))
        if not self.root.is_dir() or not any(self.root.iterdir()):
            return
        ours = self.lock.exists() or self.log.exists()
        if not ours:
            why = f"it holds something else; choose another {spell_flag('out')}, nothing was overwritten"
            raise UsageError(not_a_run(self.root, why))
        if not resume and self.has_plan():
            state = (
                "is a finished run:"
                if self.finished and has_ended(self.transcript)
                else f"holds an unfinished run: continue it with {self.resume_command}, or"
            )
            raise UsageError(
                f"{self.root} {state} choose another {spell_flag('out')}; nothing was overwritten"
            )

    def digest_manifest(self) -> str:
        """Return the SHA-256, hex, of the release's manifest."""
        return hashlib.sha256(self.manifest.read_bytes()).hexdigest()

    def has_plan(self) -> bool:
        """True if the run in the folder fixed its plan; it may have paid for something."""
        return has_plan(self.transcript)

    def has_traces(self) -> bool:
        """True if a run has been here: even before it pays, a run stores files and shows its first images."""
        stored = self.bodies.is_dir() and any(self.bodies.iterdir())
        return stored or any((self.root / name).exists() for name in MADE)

    def refuse_strange_release(self) -> None:
        """Refuse to begin where a release lies without its record (``TranscriptError``)."""
        if self.release.exists():
            raise TranscriptError(
                f"{self.release} is there, and the record that it is of is not: restore {TRANSCRIPT}/, or choose "
                f"another {spell_flag('out')}"
            )

    def forget_times(self) -> None:
        """Set all files to one time.

        The times of a measurement's file and of the next one show how long private work took. Work is padded
        on the wire for that reason, and archives would keep these times.
        """
        for folder, folders, names in os.walk(self.root):
            for name in (*names, *folders):
                os.utime(Path(folder, name), (NO_TIME, NO_TIME), follow_symlinks=False)

    def clear_false_start(self) -> None:
        """Remove the record of a run that never fixed its plan; it sent no prompt and paid nothing."""
        if self.log.exists():
            shutil.rmtree(self.bodies, ignore_errors=True)
            self.log.unlink()
