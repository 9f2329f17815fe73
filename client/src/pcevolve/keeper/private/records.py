"""Private texts on this machine: rows of a table, or files in class folders.

A dataset is complete or refused: an unusable text is never skipped, because a run declares its shots per
class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pcevolve.errors import DataError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.private.items import PrivateItems, pick
from pcevolve.keeper.private.listing import describe_single_class, refuse, refuse_twins
from pcevolve.keeper.private.tables import (
    MOST_TEXTS,
    OF_TEXTS,
    Columns,
    read_folder,
    read_table,
    require_reader,
)
from pcevolve.public.config.data_source import require_folder
from pcevolve.public.media.texts import MOST_BYTES, Text, digest_text
from pcevolve.public.modality import Texts
from pcevolve.public.words import find_label_faults


@dataclass(frozen=True, repr=False)
class Records(PrivateItems):
    """Private texts as read.

    Attributes:
        units: The owner's name of each text's unit; empty if each text is a unit.
        marks: Each text's values in the columns of secrets; empty without such columns.
        faults: Reasons for which a run would be refused; found only by an inspection.
    """

    names: tuple[str, ...]
    texts: tuple[Text, ...]
    labels: tuple[str, ...]
    units: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()
    faults: tuple[str, ...] = ()

    def subset(self, places: Sequence[int]) -> Records:
        """Return the texts at the given indices, in that order."""
        return Records(
            names=pick(self.names, places),
            texts=pick(self.texts, places),
            labels=pick(self.labels, places),
            units=pick(self.units, places),
            marks=pick(self.marks, places),
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        """The labels that occur, sorted; public by assumption."""
        return tuple(sorted(set(self.labels)))

    @property
    def unit_keys(self) -> tuple[str, ...]:
        """A key for each text's unit in a subsample.

        Without units the key is the text itself. A row number would not do: it changes if an earlier row is
        removed.
        """
        return self.units or self.texts

    @property
    def targets(self) -> list[int]:  # type: ignore[override]  # it is only read
        """Class of each text, an index into the sorted labels."""
        known = {label: target for target, label in enumerate(self.class_names)}
        return [known[label] for label in self.labels]

    def count_units(self) -> dict[str, int]:
        """Return the number of units of each class; without units, each text counts, repeated or not."""
        return super().count_units() if self.units else dict(Counter(sorted(self.labels)))

    def dataset(self, kind: str | None, labels: Sequence[str] = (), *, unique: bool = True) -> PrivateDataset:
        """Build a dataset from the texts.

        Args:
            kind: Kind of unit; None if each text is one.
            unique: Whether to refuse equal texts. They would count twice in every vote, and the guarantee
                covers one count. False for held-out data, which do not vote.

        Raises:
            DataError: A text appears twice.
        """
        known = tuple(labels) or self.class_names
        digests = tuple(map(digest_text, self.texts))
        if unique:
            refuse_twins(self.names, digests, "text")
        names, unit_of = np.unique(self.units, return_inverse=True) if self.units else ((), np.empty(0))
        return PrivateDataset(
            labels=known,
            items=self.texts,
            targets=np.array([known.index(label) for label in self.labels], dtype=np.int64),
            digests=digests,
            unit_of=unit_of.astype(np.int64),
            unit_name=kind or Texts.nouns.one,
            unit_names=tuple(map(str, names)),
            names=self.names,
            marks=self.marks,
        )


def require_records(path: Path, option: str) -> None:
    """Refuse a path without texts, before anything in it is read.

    Raises:
        DataError: The path is neither a folder nor a table.
        UsageError: The library that reads the table is not installed.
    """
    if path.is_file():
        require_reader(path)
    else:
        require_folder(path, OF_TEXTS, option)


def read_records(path: Path, columns: Columns, label: str | None = None, strict: bool = True) -> Records:
    """Read all private texts of a table or of class folders.

    Args:
        label: Public name of the one class, if labels are to be ignored.
        strict: Whether to raise faults for which a run would be refused; if not, they are in ``faults``,
            and unusable rows are left out.

    Raises:
        DataError: The faults of up to five rows or files, in one line, without any of their text.
        UsageError: The library that reads the table is not installed.
    """
    if not path.is_file():
        require_folder(path, OF_TEXTS)
    rows = read_table(path, columns, label) if path.is_file() else read_folder(path, label)
    usable: list[tuple[str, Text, str, str, tuple[str, ...]]] = []
    faults: list[str] = []
    for name, text, of_class, unit, held, wrong in rows:
        if fault := wrong or _fault(text, of_class, unit, columns):
            faults.append(f"{name} {fault}")
            continue
        if len(usable) == MOST_TEXTS:
            raise DataError(f"{path} holds more than {MOST_TEXTS:,} texts: use a smaller dataset")
        usable.append((name, text or "", of_class or "", unit or "", held))
    if not usable and not faults:
        raise DataError(f"{path} holds no texts")
    names, texts, labels, units, marks = zip(*usable, strict=True) if usable else ((),) * 5
    found = sorted(set(labels))
    faults += [f"{fault}; rename it" for fault in find_label_faults(found)]
    if len(found) == 1 and label is None:
        faults.append(describe_single_class(path, found[0]))
    if strict:
        refuse(faults)
    marks = marks if columns.secrets else ()
    return Records(names, texts, labels, units if columns.unit else (), marks, tuple(faults))


def _fault(text: Text | None, label: str | None, unit: str | None, columns: Columns) -> str:
    """Return why a row cannot be used; empty if it can."""
    if not text:
        return f"has no text (column {columns.text!r}), or one of over {MOST_BYTES:,} bytes"
    if not label:
        return f"has no label (column {columns.label!r})"
    return f"has no {columns.unit}" if columns.unit and not unit else ""
