"""A finished run's dataset in other forms: functions of its release, written when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pcevolve.errors import UsageError
from pcevolve.publish import Release, export
from pcevolve.run.folder import RunFolder
from pcevolve.transcript import RunReader
from pcevolve.transcript.layout import EXPORTS, Form


def export_run(root: Path, names: Iterable[str]) -> list[Path]:
    """Write the dataset of a finished run in other forms; those that are there are replaced.

    Args:
        root: The run's folder.
        names: Of the forms.

    Returns:
        The folders, in the same order.

    Raises:
        UsageError: It is no finished run, there is no such form, or its library is not installed.
        TranscriptError: Its record or manifest is damaged.
    """
    forms = [_form(name) for name in dict.fromkeys(names)]
    if not forms:
        return []
    folder = RunFolder(root)
    folder.require_transcript()
    run = RunReader.strict(root)
    run.require_finished()
    release, files = Release.of(run, {}), run.manifest().files
    for form in forms:
        export(
            folder.export(form),
            form,
            release,
            files,
            lambda path: (folder.release / path).read_bytes(),
        )
    return [folder.export(form) for form in forms]


def forms_beside(root: Path) -> list[Form]:
    """The forms in which a run's dataset lies beside its release."""
    return [form for form, name in EXPORTS.items() if (root / name).is_dir()]


def _form(name: str) -> Form:
    for form in EXPORTS:
        if form == name:
            return form
    raise UsageError(f"--format {name}: there is {' and '.join(EXPORTS)}")
