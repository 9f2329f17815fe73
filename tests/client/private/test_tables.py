"""Columns of a table are found by their names, and cells are read as they stand."""

from __future__ import annotations

import pytest

from pcevolve.private.records import read_records
from pcevolve.private.tables import Columns
from support.tables import write_table


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet"])
def test_columns_and_labels_are_the_same_however_unicode_spells_them(tmp_path, name):
    rows: list[dict[str, object]] = [
        {"Pre\u0301cis": "one", "label": "e\u0301t\u00e9", "patie\u0301": "1"},
        {"Pre\u0301cis": "two", "label": "\u00e9te\u0301", "patie\u0301": "2"},
        {"Pre\u0301cis": "six", "label": "b", "patie\u0301": "2"},
    ]
    found = read_records(write_table(tmp_path / name, rows), Columns("Pr\u00e9cis", unit="pati\u00e9"))
    assert found.texts == ("one", "two", "six")
    assert found.labels == ("\u00e9t\u00e9", "\u00e9t\u00e9", "b")
    assert found.units == ("1", "2", "2")


def test_a_column_of_numbers_is_read_as_it_stands(tmp_path):
    (tmp_path / "t.csv").write_text("text,label,patient\na,x,007\nb,x,7\nc,y,7.0\nd,y,1e3\n")
    assert read_records(tmp_path / "t.csv", Columns(unit="patient")).units == ("007", "7", "7", "1e3")
