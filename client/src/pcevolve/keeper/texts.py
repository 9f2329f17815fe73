"""Private texts: how they are read, and how they judge a run; see ``kind.PrivateKind``.

Functions that judge or measure import torch themselves, because torch takes seconds to load.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.listing import refuse_twins
from pcevolve.keeper.private.records import Records, read_records
from pcevolve.keeper.private.tables import Columns
from pcevolve.keeper.private.units import require_unit_size
from pcevolve.keeper.private_data import (
    NOTHING_LEFT,
    RunData,
    draw_units,
    find_test,
    note_ids,
    require_shots,
)
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import REST
from pcevolve.public.modality import Texts
from pcevolve.public.plan import PublicPlan
from pcevolve.public.screen import ProgressCallback, no_progress

if TYPE_CHECKING:
    from pcevolve.keeper.check import Checkup
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.evaluation.labelled import Labelled


from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media.texts import Text


def read_used(settings: RunConfig, path: Path, show_progress: ProgressCallback = no_progress) -> RunData:
    """Read the texts for a run, and its held-out texts, if any."""
    columns = replace(_columns(settings), secrets=settings.data.secret_columns)
    found = read_records(path, columns, settings.data.domain if settings.data.unlabelled else None)
    counted = "texts" if columns.unit is None else f"units ({columns.unit})"
    if settings.data.unit_size and columns.unit is not None:
        require_unit_size(found.units, found.names, columns.unit, settings.data.unit_size)
    if settings.data.subsample is not None:
        # Checked among all texts, before the draw: if the refusal depended on the seed, the owner could draw
        # again.
        refuse_twins(found.names, found.texts, "text")
    found, rest = draw_units(settings, found, counted)
    data = found.dataset(columns.unit)
    require_shots(settings, found.count_units(), counted, found.count_drawable)
    notes = note_ids(data.unit_names, data.unit_name)
    test = _read_held_out(settings, data, rest)
    return RunData(data, test, notes=tuple(("NOTE", each) for each in notes))


def read_others(path: Path, plan: PublicPlan, began: RunConfig | None) -> PrivateDataset:
    """Read the owner's texts that an option of ``evaluate`` names; see ``PrivateKind``."""
    columns = Columns() if began is None else _columns(began)
    return read_records(path, columns).dataset(None, unique=False)


def _columns(settings: RunConfig) -> Columns:
    return Columns.from_options(
        settings.data.text_column, settings.data.label_column, settings.data.unit_column
    )


def _read_held_out(settings: RunConfig, data: PrivateDataset, rest: Records | None) -> PrivateDataset | None:
    if (test := find_test(settings, data)) is None:
        return None
    own = test == REST and rest is not None
    found = rest if own else read_records(Path(test), _columns(settings))
    assert found is not None
    if missing := sorted(set(data.labels) - set(found.labels)):
        if own:
            raise DataError(NOTHING_LEFT.format(kind="text"))
        raise DataError(f"--test {test}: class {missing[0]!r} has no text")
    if strange := sorted(set(found.labels) - set(data.labels)):
        raise DataError(f"--test {test} has a class that --private does not have: {strange[0]!r}")
    return found.dataset(None if own else _columns(settings).unit, data.labels, unique=False)


def check(
    path: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None
) -> Checkup:
    """Inspect a table or a folder of texts before a run (``UsageError`` for a unit map)."""
    from pcevolve.keeper.check import check_texts  # a run does not need it

    if write_unit_map is not None:
        raise UsageError("--write-unit-map is for images: texts have data.unit_column")
    return check_texts(path, settings)


def passes_over(path: Path) -> bool:
    """Return False, because among texts a file of notes is a text too."""
    return False


def make_independent(quick: bool = False) -> Evaluator:
    """Return a judge on hashed words and word pairs; the number of texts does not change its training steps."""
    from pcevolve.keeper.evaluation.heads import train_linear
    from pcevolve.keeper.evaluation.judge import Evaluator
    from pcevolve.keeper.texts import hash_ngrams

    return Evaluator(Texts.independent_classifier, voted=False, look=hash_ngrams, train=train_linear)


def find_copied_words(dataset: Labelled, private: Labelled) -> dict[str, object]:
    """Find the longest sequence of words that a text of the dataset shares with a private one; see ``PrivateKind``."""
    from pcevolve.keeper.texts import find_longest_copied_span

    words, place = find_longest_copied_span(dataset.images, private.images)
    return {"longest_copied_words": words, "copied_in": dataset.names[place] if words else None}


def find_longest_copied_span(made: Sequence[Text | None], private: Sequence[Text | None]) -> tuple[int, int]:
    """Find the longest sequence of words that occurs in texts of both sets, ignoring case.

    Returns:
        The number of words, and the index of the first synthetic text with the sequence; 0, 0 if no word
        occurs in both sets.
    """
    own = [(each or "").casefold().split() for each in private]
    best, place = 0, 0
    for number, text in enumerate((each or "").casefold().split() for each in made):
        while _has_span(text, own, best + 1):
            best, place = best + 1, number
    return best, place


def _has_span(text: list[str], own: list[list[str]], length: int) -> bool:
    spans = {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}
    return bool(spans) and any(
        tuple(words[start : start + length]) in spans
        for words in own
        for start in range(len(words) - length + 1)
    )


FEATURES = 2**12
"""Number of hash buckets: few enough for dense rows, of 16 KiB each."""


def hash_ngrams(texts: Sequence[Text | None]) -> NDArray[np.float32]:
    """Hash words and word pairs with signs (Weinberger et al. 2009): float32 rows of length 1; NaN without words."""
    from sklearn.feature_extraction.text import HashingVectorizer  # takes seconds to import

    hashing = HashingVectorizer(n_features=FEATURES, ngram_range=(1, 2), dtype=np.float32)
    rows: NDArray[np.float32] = hashing.transform([text or "" for text in texts]).toarray()
    rows[~rows.any(axis=1)] = np.nan
    return rows
