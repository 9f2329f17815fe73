"""What judges have said of a run, in ``private/``: who was asked before stays beside who is asked today."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pcevolve.evaluation.private_file import write_private
from pcevolve.run.folder import RunFolder
from pcevolve.transcript import RunLayout


def subject(test: bytes, runs: Iterable[Path]) -> str:
    """SHA-256 of what is judged: figures with another one are about something else and do not belong together.

    Args:
        test: Digest of the held-out data.
        runs: The run and its control; a dataset that has grown is another one.
    """
    manifests = (RunLayout(root).manifest.read_bytes() for root in runs)
    return hashlib.sha256(test + b"".join(hashlib.sha256(each).digest() for each in manifests)).hexdigest()


def keep(root: Path, found: Mapping[str, Any]) -> None:
    """Write what was found, and behind it the rows of judges that were asked earlier about the same subject.

    Args:
        root: The run.
        found: As ``evaluated`` returns it; ``subject`` says what it is about.
    """
    path = RunFolder(root).judgement
    before = json.loads(path.read_bytes()) if path.is_file() else {}
    asked = {row["judge"] for row in found["judges"]}
    rows = before.get("judges", []) if before.get("subject") == found["subject"] else []
    kept = [row for row in rows if row["judge"] not in asked]
    write_private(path, {**found, "judges": [*found["judges"], *kept]})
