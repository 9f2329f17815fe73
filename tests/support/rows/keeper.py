"""Private rows: a table with the columns ``label``, ``x`` and ``y``, and the judge of a dataset."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pcevolve.public.media.rows import digest_row

from pcevolve.errors import DataError
from pcevolve.keeper.check import Checkup
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private_data import RunData, require_shots
from pcevolve.public.config.config import RunConfig
from pcevolve.public.plan import PublicPlan
from pcevolve.public.screen import ProgressCallback, no_progress

if TYPE_CHECKING:
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled


def read_used(settings: RunConfig, path: Path, show_progress: ProgressCallback = no_progress) -> RunData:
    data = _read(path)
    counts = Counter(data.labels[target] for target in data.targets.tolist())
    require_shots(settings, counts, "rows", counts)
    return RunData(data, None)


def read_others(path: Path, plan: PublicPlan, began: RunConfig | None) -> PrivateDataset:
    return _read(path)


def check(
    path: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None
) -> Checkup:
    try:
        data = _read(path)
    except DataError as error:
        return Checkup((), (str(error),), ())
    return Checkup((("rows", f"{len(data.targets)}"),), (), (), len(data.targets), {}, data.labels)


def passes_over(path: Path) -> bool:
    return False


def make_independent(quick: bool = False) -> Evaluator:
    from pcevolve.keeper.evaluation.heads import train_linear
    from pcevolve.keeper.evaluation.judge import Evaluator

    return Evaluator("line", voted=False, look=_look, train=train_linear)


def find_copied_words(dataset: Labelled, private: Labelled) -> dict[str, object]:
    return {}


def _look(rows: Sequence[tuple[float, ...] | None]) -> np.ndarray:
    return np.array([(np.nan, np.nan) if each is None else each for each in rows], dtype=np.float32)


def _read(path: Path) -> PrivateDataset:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    if not rows:
        raise DataError(f"{path} holds no rows")
    labels = tuple(sorted({each["label"] for each in rows}))
    items = tuple((float(each["x"]), float(each["y"])) for each in rows)
    targets = np.array([labels.index(each["label"]) for each in rows], dtype=np.int64)
    return PrivateDataset(labels, items, targets, tuple(map(digest_row, items)), unit_name="row")
