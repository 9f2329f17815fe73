"""Columns of a table are found by their names, and cells are read as they stand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pcevolve.errors import DataError
from pcevolve.keeper.private import records, tables
from pcevolve.keeper.private.records import read_records
from pcevolve.keeper.private.tables import Columns, read_table
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


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_text_has_at_most_128_kibibytes(tmp_path, name):
    texts = ("a" * 131_072, "a" * 131_073, "\u00e9" * 65_536, "\u00e9" * 65_537)
    write_table(tmp_path / name, [{"text": each, "label": "x"} for each in texts])
    found = [text for _, text, *_ in read_table(tmp_path / name, Columns(), None)]
    assert found == [texts[0], None, texts[2], None]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_table_has_at_most_four_gibibytes(tmp_path, name):
    for size, said in ((2**32 + 1, "it is larger than 4,294,967,296 bytes"), (2**32, r"(?!.*larger)")):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
        with pytest.raises(DataError, match=said):
            list(read_table(tmp_path / name, Columns(), None))


def test_a_row_has_at_most_four_mebicharacters(tmp_path):
    for more in (0, 1):
        row = '{"text": "a", "label": "x", "more": "' + "b" * (2**22 - 40 + more) + '"}\n'
        assert len(row) == 4_194_304 + more
        (tmp_path / "t.jsonl").write_text(row)
        if more:
            with pytest.raises(DataError, match="cannot be read after row 0"):
                list(read_table(tmp_path / "t.jsonl", Columns(), None))
        else:
            assert len(list(read_table(tmp_path / "t.jsonl", Columns(), None))) == 1


def describe_parquet(rows: int, size: int) -> SimpleNamespace:
    """What a footer says of one row group with a column of texts."""
    chunk = SimpleNamespace(
        path_in_schema="text", num_values=rows, total_uncompressed_size=size, encodings=()
    )
    group = SimpleNamespace(num_columns=1, column=lambda number: chunk)
    return SimpleNamespace(num_rows=rows, num_row_groups=1, row_group=lambda number: group)


def test_a_parquet_file_holds_at_most_four_million_texts_and_a_hundred_times_its_size(tmp_path):
    tables._require_bearable(tmp_path, describe_parquet(4_000_000, 100), ["text"], 100)
    tables._require_bearable(tmp_path, describe_parquet(1, 101), ["label"], 100)  # which is another column
    with pytest.raises(DataError, match="holds more than 4,000,000 texts: use a smaller dataset"):
        tables._require_bearable(tmp_path, describe_parquet(4_000_001, 100), ["text"], 100)
    with pytest.raises(DataError, match="unpacks to more than a hundred times its size"):
        tables._require_bearable(tmp_path, describe_parquet(1, 101), ["text"], 100)


def test_of_more_texts_than_fit_none_is_left_out_in_silence(tmp_path, monkeypatch):
    assert records.MOST_TEXTS == 4_000_000
    monkeypatch.setattr(records, "MOST_TEXTS", 3)
    for rows in (3, 4):
        write_table(tmp_path / "t.csv", [{"text": f"a{each}", "label": "x"} for each in range(rows)])
        if rows == 3:
            assert len(read_records(tmp_path / "t.csv", Columns(), label="x").texts) == 3
        else:
            with pytest.raises(DataError, match="holds more than 3 texts"):
                read_records(tmp_path / "t.csv", Columns(), label="x")


@pytest.mark.parametrize(("unit", "exact"), [(2.0**53 - 1, True), (2.0**53, False), (-(2.0**53), False)])
def test_a_unit_in_floating_point_is_one_that_it_holds_exactly(tmp_path, unit, exact):
    write_table(tmp_path / "t.parquet", [{"text": "a", "label": "x", "patient": unit}])
    ((_, _, _, named, _, fault),) = read_table(tmp_path / "t.parquet", Columns(unit="patient"), None)
    assert (fault == "") is exact
    assert named == f"{unit:.0f}"
