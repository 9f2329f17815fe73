"""Check that a run's folder agrees with its record, before a resumed run sends anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.config.options import spell_flag
from pcevolve.public.run.folder import LOST, RunFolder
from pcevolve.public.transcript.layout import TRANSCRIPT
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader


@contextmanager
def open_record(folder: RunFolder) -> Iterator[Transcript]:
    """Open a run's record for writing, in a claimed folder; remove the files of a run that never fixed its plan.

    Raises:
        TranscriptError: A stored file is missing or changed, or the release folder does not match the record.
    """
    if folder.has_plan():
        run = RunReader.strict(folder.root)
        if (fault := find_release_fault(run)) is not None:
            raise TranscriptError(fault)
        _require_stored_files(run)
    else:
        folder.refuse_strange_release()
        folder.clear_false_start()
    with closing(Transcript(folder.transcript)) as transcript:
        yield transcript


def find_release_fault(run: RunReader) -> str | None:
    """Return why the release folder does not match the run's record; None if it matches or does not exist."""
    layout = run.layout
    if not layout.release.exists():
        return None
    try:
        manifest = run.manifest()
    except (UsageError, TranscriptError):
        return (
            f"{layout.release} is not of the record beside it, which is older or another one: restore {TRANSCRIPT}/ as "
            "it was with that release; or move the release elsewhere and resume, which asks the provider again for "
            "what is not on record, and spends no privacy budget again"
        )
    for each in manifest.files:
        with suppress(OSError):
            if hashlib.sha256((layout.release / each.path).read_bytes()).hexdigest() == each.sha256:
                continue
        return (
            f"{layout.release / each.path} is gone or was changed: move the release elsewhere and resume, which makes "
            "it anew from the record and asks for nothing"
        )
    return None


def _require_stored_files(run: RunReader) -> None:
    """Refuse to resume if a stored file is missing or changed: the finished dataset would lack it."""
    for name in run.stored:
        try:
            run.bodies.file(name)
        except TranscriptError as error:
            raise TranscriptError(
                f"{error}; nothing was sent: restore {run.layout.root} from its newest copy; "
                f"{LOST.format(out=spell_flag('out'))}"
            ) from error
