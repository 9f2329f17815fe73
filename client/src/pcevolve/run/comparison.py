"""Several finished runs of the owner's beside each other: what each cost, what was said of it, what judges found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcevolve.durable import write_durably
from pcevolve.errors import UsageError
from pcevolve.modality.images.sheet import sheet_png
from pcevolve.run.folder import RunFolder
from pcevolve.run.labelled import Labelled
from pcevolve.transcript import RunReader

SHOWN = 6
"""Images of each class in a picture."""


@dataclass(frozen=True)
class Compared:
    """One run.

    Attributes:
        name: Of its folder.
        summary: As the run wrote it; public.
        labels: Of its classes.
        judges: What ``pcevolve evaluate`` found, by judge; empty where it was not asked. Private.
    """

    name: str
    summary: dict[str, Any]
    labels: tuple[str, ...]
    judges: dict[str, dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """For programs; private where there are judges."""
        return {"run": self.name, "labels": list(self.labels), **self.summary, "judges": self.judges}


def compared(roots: Sequence[Path]) -> list[Compared]:
    """Read several runs.

    Raises:
        UsageError: One is no run, or has not ended.
    """
    return [_one(root) for root in roots]


def write_sheet(roots: Sequence[Path], path: Path) -> None:
    """Draw some images of each run's dataset, a row each.

    Raises:
        UsageError: A run has not ended.
    """
    write_durably(path, sheet_png([(each.name, _dataset(each).first(SHOWN)) for each in roots]))


def _one(root: Path) -> Compared:
    folder = RunFolder(root)
    folder.require_transcript()
    if not folder.finished or not folder.summary.is_file():
        raise UsageError(f"{root} has not ended: continue it with pcevolve run --resume {root}")
    plan = RunReader.strict(root).require_plan()
    found = json.loads(folder.judgement.read_bytes())["judges"] if folder.judgement.is_file() else []
    judges = {row["judge"]: {"voted": row["voted"], **row["dataset"]["accuracy"]} for row in found}
    return Compared(root.name, json.loads(folder.summary.read_bytes()), plan.labels, judges)


def _dataset(root: Path) -> Labelled:
    return Labelled.released(root, RunReader.strict(root).require_plan().labels)
