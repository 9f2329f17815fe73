"""The folder of a run, which may be shared unchanged, and its lock. No function overwrites an existing run."""

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

LOST = "without it this run cannot continue: what it spent stays spent, and a new one needs another {out}"


@dataclass(frozen=True)
class RunFolder(RunLayout):
    """The folder of a run that this process creates or continues."""

    @property
    def finished(self) -> bool:
        """True if the dataset has been released."""
        return self.release.is_dir()

    @contextmanager
    def claim(self, resume: bool) -> Iterator[None]:
        """Create the folder, or continue the run in it, and lock the folder for this process.

        Raises:
            UsageError: The run cannot use the folder (see ``refuse_overwriting``), or another process holds the lock.
        """
        self.refuse_overwriting(resume)
        self.root.mkdir(parents=True, exist_ok=True)
        with self._lock():
            yield

    @contextmanager
    def hold(self, *, as_found: bool = False) -> Iterator[None]:
        """Lock the folder while files are written next to a record.

        With ``as_found``, leave all files unchanged for an audit, which reports on them.
        """
        self.require_transcript()
        with self._lock(as_found):
            yield

    def is_held(self) -> bool:
        """True if another process holds the folder's lock; creates no file."""
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
        # The lock file is never removed: after a removal, a third process could lock a new file of the same name.
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                # Fail at once, because two runs in one folder are a mistake, which the second run should report.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"another process is using {self.root}: wait until it ends") from None
            for name in () if as_found else MADE:
                settle(self.root / name)
            yield
        finally:
            os.close(descriptor)

    def refuse_overwriting(self, resume: bool) -> None:
        """Refuse a folder with foreign contents, or with a run that is not being resumed (``UsageError``)."""
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            raise UsageError(
                not_a_run(self.root, f"this is not a folder: choose another {spell_flag('out')}")
            )
        if not self.root.is_dir() or not any(self.root.iterdir()):
            return
        ours = self.lock.exists() or self.log.exists()
        if not ours:
            why = f"the folder contains other files; choose another {spell_flag('out')}; nothing was overwritten"
            raise UsageError(not_a_run(self.root, why))
        if not resume and self.has_plan():
            state = (
                "is a finished run:"
                if self.finished and has_ended(self.transcript)
                else f"contains an unfinished run: continue it with {self.resume_command}, or"
            )
            raise UsageError(
                f"{self.root} {state} choose another {spell_flag('out')}; nothing was overwritten"
            )

    def digest_manifest(self) -> str:
        """Return the SHA-256, hex, of the release's manifest."""
        return hashlib.sha256(self.manifest.read_bytes()).hexdigest()

    def has_plan(self) -> bool:
        """True if the run in the folder has fixed its plan, after which it may have paid for a release."""
        return has_plan(self.transcript)

    def has_traces(self) -> bool:
        """True if the folder shows traces of a run. A run stores files and shows images even before it pays."""
        stored = self.bodies.is_dir() and any(self.bodies.iterdir())
        return stored or any((self.root / name).exists() for name in MADE)

    def refuse_strange_release(self) -> None:
        """Refuse to begin in a folder that holds a release without its record (``TranscriptError``)."""
        if self.release.exists():
            raise TranscriptError(
                f"{self.release} exists, but its record is missing: restore {TRANSCRIPT}/, or choose "
                f"another {spell_flag('out')}"
            )

    def forget_times(self) -> None:
        """Set the modification times of all files to one fixed time.

        The real times of consecutive files would show how long private work took. On the wire, private work is
        padded to hide its duration, but an archive would keep the times.
        """
        for folder, folders, names in os.walk(self.root):
            for name in (*names, *folders):
                os.utime(Path(folder, name), (NO_TIME, NO_TIME), follow_symlinks=False)

    def clear_false_start(self) -> None:
        """Remove the record of a run that never fixed its plan; such a run sent no prompt and paid for nothing."""
        if self.log.exists():
            shutil.rmtree(self.bodies, ignore_errors=True)
            self.log.unlink()
