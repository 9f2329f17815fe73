"""Pack the shareable parts of a run into one zip, which is identical whenever and wherever it is made.

The zip contains the record, the release that follows from it, and pages rendered here from both. Other files in the
folder are not included. The files are stored uncompressed, because compressed bytes depend on versions.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pcevolve.auditing.rebuilt import RebuiltRelease
from pcevolve.auditing.verdict import Audit
from pcevolve.errors import TranscriptError, UsageError
from pcevolve.public.durable import NO_TIME
from pcevolve.public.publish.release import make_classifier
from pcevolve.public.transcript.layout import BODIES, CARD, CLASSIFIER, LOG, MANIFEST, RELEASE, TRANSCRIPT

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can store, because the packed files have no times."""


def pack(audited: Audit, path: Path) -> Path:
    """Write an audited run as a zip with one folder, which passes the same audit once it is unzipped.

    Raises:
        UsageError: The run is unfinished, or the target exists.
        TranscriptError: A claim of the audit is broken.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists: give another --out; nothing was overwritten")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: there is no such folder to write {path.name} in")
    if path.resolve().is_relative_to(audited.run.layout.root.resolve()):
        raise UsageError(
            f"{path} lies in the run's folder, where it would belong to no run: give another --out"
        )
    if audited.broken:
        raise TranscriptError(
            f"{audited.run.layout.root} is not packed, for its audit is broken: {audited.faults[0]}"
        )
    if audited.released is None:
        raise audited.run.make_unfinished_error()
    files, folder = _list_files(audited, audited.released), name_packed(audited)
    # A temporary name, so that an interrupted zip is not mistaken for a complete one.
    unfinished = path.with_name(f".{path.name}.partial")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(files):
                entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
                entry.create_system, entry.external_attr = 3, 0o644 << 16  # a UNIX file with mode 0644
                archive.writestr(entry, files[name]())
        os.utime(unfinished, (NO_TIME, NO_TIME))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def name_packed(audited: Audit) -> str:
    """Return the name of the folder in the zip."""
    return f"pcevolve-{audited.run.opened.run_id[:8]}"


def _list_files(audited: Audit, released: RebuiltRelease) -> dict[str, Callable[[], bytes]]:
    """Return functions that produce the packed files, by path below the run's folder."""
    run = audited.run
    made = {
        **audited.render_views(),
        f"{RELEASE}/{MANIFEST}": released.manifest().encode(),
        f"{RELEASE}/{CARD}": released.render_card(),
    }
    means = make_classifier(released.plan, run.receipts, run.bodies.file)
    if means is not None:
        made[f"{RELEASE}/{CLASSIFIER}"] = means
    verified = [*(f"{RELEASE}/{each.path}" for each in released.files), f"{TRANSCRIPT}/{LOG}"]
    return {
        **{name: partial(bytes, data) for name, data in made.items()},
        **{name: (run.layout.root / name).read_bytes for name in verified},
        **{f"{TRANSCRIPT}/{BODIES}/{name}": partial(run.bodies.file, name) for name in run.stored},
    }
