"""Names of everything in a run's folder, and the check that a run was written by this version.

A run's folder may be shared unchanged. Files for the owner alone are stored with the ledger
(``public.run.owner``). The folder holds only listed files, and folders that contain listed files. Links are
never followed: a link is a fault whatever its target.
"""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pcevolve.errors import UsageError
from pcevolve.public.config.options import is_at_door
from pcevolve.public.settings import Form
from pcevolve_shared.reading import open_file, parse_json

FORMAT: Final = 3
"""Version of record and manifest. It is raised with every change that another version could misread."""
WRITERS: Final = {2: "0.2.0"}
"""The pcevolve version that wrote each format. Runs of earlier versions had no format number."""
MOST_OPENING_BYTES: Final = 100_000
_MOST_LOG_BYTES: Final = 2**62


def require_format(log: Path, root: Path) -> None:
    """Refuse a run whose first line names another format (``UsageError`` names the version that can read it)."""
    try:
        # Read no more than an opening line needs, because the file may hold anything.
        with open_file(log, _MOST_LOG_BYTES) as file:
            event = _event(file.readline(MOST_OPENING_BYTES))
    except OSError:
        return
    found = event.get("format")
    if event.get("kind") != "opened" or found == FORMAT:
        return
    if isinstance(found, int) and found > FORMAT:
        text = f"a later pcevolve (format {found}, and this one reads {FORMAT}): use that version"
    else:
        text = f"pcevolve {WRITERS.get(found or 0, '0.1')}: audit it, or go on with it, with that version"
    raise UsageError(f"{root} was made by {text}")


def _event(line: bytes) -> dict[str, Any]:
    """Parse the event of a line; an invalid line gives an empty event."""
    try:
        event = parse_json(line)["event"]
    except (ValueError, LookupError, TypeError):
        return {}
    return event if isinstance(event, dict) else {}


TRANSCRIPT: Final = "transcript"
LOG: Final = "log.jsonl"
BODIES: Final = "bodies"
RELEASE: Final = "release"
MANIFEST: Final = "manifest.json"
CARD: Final = "README.md"
CLASSIFIER: Final = "classifier.safetensors"
SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"
PREVIEW: Final = "preview.html"
LIVE: Final = "live.html"
WIRE_PAGE: Final = "wire.html"
LOCK: Final = ".lock"
AUDIT: Final = "audit"

EXPORTS: Final[dict[Form, str]] = {
    "parquet": "release-parquet",
    "webdataset": "release-webdataset",
    "jsonl": "release-jsonl",
    "csv": "release-csv",
}
"""The export folder of each format."""

KINDS: Final = {
    LOCK: stat.S_IFREG,
    RELEASE: stat.S_IFDIR,
    TRANSCRIPT: stat.S_IFDIR,
    **dict.fromkeys(EXPORTS.values(), stat.S_IFDIR),
    SUMMARY: stat.S_IFREG,
    REPORT: stat.S_IFREG,
    PREVIEW: stat.S_IFREG,
    LIVE: stat.S_IFREG,
    AUDIT: stat.S_IFDIR,
}
"""Every entry that may lie directly in a run's folder, with its file type."""
MADE: Final = KINDS.keys() - {LOCK, TRANSCRIPT}
"""The entries that are written in one step, unlike the lock and the growing record."""


class _Place:
    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, layout: RunLayout, kind: type[RunLayout] | None = None) -> Path:
        return layout.root.joinpath(*self._parts)


@dataclass(frozen=True)
class RunLayout:
    """Paths of one run. This class creates no files."""

    root: Path

    transcript = _Place(TRANSCRIPT)
    """Everything that crossed the wire."""
    log = _Place(TRANSCRIPT, LOG)
    """The transcript's lines, each with the digest of the line before it."""
    bodies = _Place(TRANSCRIPT, BODIES)
    """The images and bodies that the records name."""
    release = _Place(RELEASE)
    """The synthetic dataset with its manifest and card."""
    manifest = _Place(RELEASE, MANIFEST)
    """The manifest: every released file with its digest, and the digest of the transcript's last line."""
    card = _Place(RELEASE, CARD)
    """The dataset card, with content, promise and assumptions of the dataset."""
    classifier = _Place(RELEASE, CLASSIFIER)
    """The released class means, with which images can be classified. Some methods release none."""
    summary = _Place(SUMMARY)
    """Figures of the run, for programs; derived from the transcript."""
    report = _Place(REPORT)
    """Pictures and figures of the run, for people; derived from the transcript."""
    preview = _Place(PREVIEW)
    """The provider's first images, for a person to look at before any budget is spent; derived from the transcript."""
    live = _Place(LIVE)
    """The run's progress and its outcome; derived from the transcript."""
    audit = _Place(AUDIT)
    """Pages that the last audit made from the verified record. No audit reads them."""
    wire_page = _Place(AUDIT, WIRE_PAGE)
    """Page with everything that was sent, and an audit's findings."""
    lock = _Place(LOCK)
    """Lock file, held by the only process that may write to the run."""

    @property
    def resume_command(self) -> str:
        """The command line that resumes the run; two commands if keeper and client are separate commands."""
        root = shlex.quote(str(self.root))
        if is_at_door():
            again = "in containers: docker compose up again"
            return f"both commands as before, the keeper's with --resume {root} ({again})"
        return f"pcevolve run --resume {root}"

    def export(self, form: Form) -> Path:
        """Return the path of the dataset in another format, which exists only after an export."""
        return self.root / EXPORTS[form]

    def require_transcript(self) -> None:
        """Refuse a path that is not a run's folder, and a run of another version (``UsageError``)."""
        if not self.root.exists():
            raise UsageError(not_a_run(self.root, "there is no such folder"))
        if self.root.suffix == ".zip" and self.root.is_file():
            raise UsageError(not_a_run(self.root, "unzip it first, and give the folder that was in it"))
        if not self.transcript.is_dir():
            run = self.root.absolute().parent
            hint = f"; {shlex.quote(str(run))} is" if RunLayout(run).transcript.is_dir() else ""
            raise UsageError(not_a_run(self.root, f"it has no transcript{hint}"))
        require_format(self.log, self.root)


def not_a_run(root: Path, why: str) -> str:
    """Return the message for a path that is not a run's folder."""
    return f"{root} is not the folder of a run: {why}"
