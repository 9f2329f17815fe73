"""Private texts from tables and folders: complete, or refused without repeating a word of them."""

from __future__ import annotations

import csv
import datetime
import decimal
import math
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pcevolve.errors import DataError
from pcevolve.keeper.private.records import read_records, require_records
from pcevolve.keeper.private.tables import Columns
from support.bounded import run_bounded
from support.tables import write_table

ROWS = [
    {"text": "a  bird", "label": "animal", "patient": "Zo\u00e9"},
    {"text": "the boat, of wood", "label": "thing", "patient": "p2"},
    {"text": 'a "fever"\nagain', "label": "animal", "patient": " Zoe\u0301"},
    {"text": "\u00e9t\u00e9", "label": "thing", "patient": "p3"},
]
SEEN = ("a bird", "the boat, of wood", 'a "fever" again', "\u00e9t\u00e9")


def write(path: Path, rows: list[dict[str, object]] = ROWS) -> Path:
    return write_table(path, rows)


def test_strings_of_any_of_arrows_types_are_texts(tmp_path):
    kinds = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()))
    for number, kind in enumerate(kinds):
        columns = {name: pa.array([row[name] for row in ROWS], kind) for name in ("text", "label")}
        parquet.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
        assert read_records(tmp_path / f"{number}.parquet", Columns()).texts == SEEN


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "T.CSV"])
def test_every_kind_of_table_gives_the_same_texts(tmp_path, name):
    found = read_records(write(tmp_path / name.lower()).rename(tmp_path / name), Columns())
    assert found.texts == SEEN
    assert found.labels == ("animal", "thing", "animal", "thing")
    assert (found.names, found.units) == (("row 1", "row 2", "row 3", "row 4"), ())


def test_a_dataset_of_texts_is_one_unit_each_or_as_the_column_says(tmp_path):
    path = write(tmp_path / "t.csv")
    alone = read_records(path, Columns()).dataset(None)
    assert (alone.unit_name, alone.unit_of.tolist(), alone.unit_names) == ("text", [0, 1, 2, 3], ())
    assert [len(each.images) for each in alone.privacy_units()] == [1] * 4
    grouped = read_records(path, Columns(unit="patient")).dataset("patient")
    assert (grouped.unit_name, grouped.unit_of.tolist()) == ("patient", [0, 1, 0, 2])
    assert [each.name for each in grouped.privacy_units()] == ["Zo\u00e9", "p2", "p3"]
    assert alone.digests == grouped.digests
    assert len(set(alone.digests)) == 4


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_unit_may_be_a_number_and_not_one_that_is_none(tmp_path, name):
    rows: list[dict[str, object]] = [{**row, "patient": number / 2} for number, row in enumerate(ROWS)]
    assert read_records(write(tmp_path / name, rows), Columns(unit="patient")).units[1] == "0.5"
    assert read_records(write(tmp_path / name, rows), Columns(unit="patient")).units[::2] == ("0", "1")
    rows[1]["patient"] = math.nan
    with pytest.raises(DataError, match="row 2 has no patient"):
        read_records(write(tmp_path / name, rows), Columns(unit="patient"))


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_whole_number_with_a_point_is_the_same_class_as_without(tmp_path, name):
    rows: list[dict[str, object]] = [{**row, "label": number % 2 + 3.0} for number, row in enumerate(ROWS)]
    assert set(read_records(write(tmp_path / name, rows), Columns()).labels) == {"3", "4"}


def test_a_secret_is_one_value_and_not_a_list_that_would_be_passed_over(tmp_path):
    rows: list[dict[str, object]] = [
        {**row, "patient": datetime.time(place)} for place, row in enumerate(ROWS)
    ]
    found = read_records(write(tmp_path / "t.parquet", rows), Columns(secrets=("patient",)))
    assert found.marks[1] == ("01:00:00",)
    rows = [*ROWS, {**ROWS[0], "text": "x", "patient": ["Ann", "Bob"]}]
    with pytest.raises(DataError, match="row 5 has no single value in column 'patient'"):
        read_records(write(tmp_path / "t.jsonl", rows), Columns(secrets=("patient",)))


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_numbers_whose_last_digits_floating_point_has_lost_are_no_patients(tmp_path, name):
    rows: list[dict[str, object]] = [{**row, "patient": 2.0**53 + 2 * k} for k, row in enumerate(ROWS)]
    with pytest.raises(
        DataError,
        match="row 1 has a patient with more digits than a floating-point number can hold: store it as",
    ):
        read_records(write(tmp_path / name, rows), Columns(unit="patient"))
    whole: list[dict[str, object]] = [{**row, "patient": 2**53 + k} for k, row in enumerate(ROWS)]
    assert len(set(read_records(write(tmp_path / name, whole), Columns(unit="patient")).units)) == 4


def test_long_texts_are_read_and_the_process_s_limit_of_a_field_stays(tmp_path):
    before, long = csv.field_size_limit(), "word " * 5_000
    (tmp_path / "long.csv").write_text(f'text,label\n"{long * 10}",a\n"{long}",b\n')
    with pytest.raises(DataError, match="row 1"):
        read_records(tmp_path / "long.csv", Columns())
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("rows", "columns", "complaint"),
    [
        (ROWS, Columns("body"), "has no column 'body': it has 'text', 'label', 'patient'; data.text_column"),
        ([*ROWS, {**ROWS[0], "text": " "}], Columns(), "row 5 has no text"),
        ([*ROWS, {**ROWS[0], "text": "x", "label": ""}], Columns(), "row 5 has no label"),
        ([*ROWS, {**ROWS[0], "text": "x", "patient": ""}], Columns(unit="patient"), "row 5 has no patient"),
        ([*ROWS, {**ROWS[0], "text": "x " * 70_000}], Columns(), "row 5 has no text"),
        ([ROWS[0]], Columns(), "has only one class, 'animal'"),
        ([*ROWS, {**ROWS[0], "text": "x", "label": "a/b"}], Columns(), "cannot be used as a label"),
        (ROWS, Columns(unit="pat/ient"), "has no column|says what a unit is"),
        (ROWS, Columns(unit="Image"), "says what a unit is: .* what its texts have in common"),
    ],
)
def test_what_cannot_be_used_is_refused_by_place(tmp_path, rows, columns, complaint):
    with pytest.raises(DataError, match=complaint) as error:
        read_records(write(tmp_path / "t.csv", rows), columns)
    assert not any(word in str(error.value) for word in ("bird", "boat", "fever"))


def test_a_text_that_stands_there_twice_is_refused_unless_it_is_held_out(tmp_path):
    found = read_records(write(tmp_path / "t.csv", [*ROWS, {**ROWS[0], "text": "a bird "}]), Columns())
    with pytest.raises(DataError, match="row 5 has the same text as row 1; remove one of them"):
        found.dataset(None)
    assert len(found.dataset(None, unique=False)) == 5


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv", b"text,label\n\xff\xfe,a\n", "not in UTF-8"),
        ("t.jsonl", b'{"text": "x", "label": "a"}\nnonsense\n', "cannot be read after row 1"),
        ("t.jsonl", b"[1]\n", "cannot be read"),
        ("t.jsonl", b'{"text": "x", "label": "\\ud800"}\n', "cannot be read after row 0: it is damaged"),
        ("t.jsonl", b"[" * 200_000, "cannot be read after row 0: it is damaged"),
        ("t.jsonl", b'{"a":' * 200_000, "cannot be read after row 0: it is damaged"),
        ("t.jsonl", b'{"text": "x", "label": ' + b"9" * 5_000 + b"}", "cannot be read after row 0"),
        ("t.jsonl", b'{"text": "x", "label": "a", "more": "' + b"x" * 2**23 + b'"}', "cannot be read after"),
        ("t.csv", b'text,label\n"' + b"x\n" * 2**23, "cannot be read after row 0"),
        ("t.csv", b"text,label\n" + b'"a\nb",' * 2**20 + b"\n", "cannot be read after row 0"),
        ("t.csv", b"text,label\n" + b"a," * 2**22 + b"\n", "cannot be read after row 0"),
        ("t.csv", "text,label\na,b\n".encode("utf-16"), r"t\.csv is in UTF-16: save it as UTF-8"),
        ("t.csv", "text,label\n\u00e4,b\n".encode("latin-1"), "it is not in UTF-8: save it as UTF-8"),
        ("t.csv", b"text,label\na,b\nwell, so to say,b\n", "row 2 has more cells than the first line"),
        ("t.parquet", b"PAR1 is not all", "cannot be read"),
        ("t.csv", b"text,label\n", "holds no texts"),
        ("t.csv", b"text,label,text\na bird,animal,x\n", "has two columns 'text': rename one"),
        ("t.xlsx", b"", "is a spreadsheet: export it as CSV in UTF-8"),
        ("t.csv.gz", b"", "is an archive: unpack it"),
        ("t.md", b"", "not a table that can be read"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"text;label\na;b\n", "has semicolons between its cells, but a .csv file needs commas"),
        ("t.csv", b"text\tlabel\na bird\tanimal\n", "has tabs between its cells"),
        ("t.csv", b"sep=;\ntext;label\n", "has semicolons between its cells"),
        ("t.tsv", b"text,label\na bird,animal\n", "has commas between its cells, but a .tsv file needs tabs"),
        ("t.csv", b"words\na bird\n", "has no column 'text': it has 'words'"),
        ("t.csv", b"Image,label\na.png,x\n", "lists files in its column 'Image'.*one folder per label"),
        ("t.jsonl", b'{"file_name": "a.png", "label": "x"}\n', "lists files in its column 'file_name'"),
        ("t.csv", "text,label\n".encode("utf-16-le"), "is in UTF-16"),
        ("t.csv", b"PK\x03\x04" + bytes(60), "is a spreadsheet or packed"),
        ("t.csv", b"<!DOCTYPE html><html>404", "is a web page"),
        ("t.jsonl", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, name, content, complaint):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        read_records(tmp_path / name, Columns())


CODE = """
from pathlib import Path
import pyarrow.parquet
from pcevolve.errors import ClientError
from pcevolve.keeper.private.records import read_records
from pcevolve.keeper.private.tables import Columns
# bound
try:
    print("read", len(read_records(Path(sys.argv[1]), Columns()).texts))
except ClientError as error:
    print(type(error).__name__, error)
"""


def quote_refusal(path: Path, seconds: float = 20) -> str:
    """Quote the refusal of a table that may take half a GiB and some seconds."""
    return run_bounded(CODE.replace("# bound", "limit(0.5)"), path, seconds=seconds).strip()


def repeat_text(rows: int, text: str) -> pa.Array:
    """A column in which one text stands for all rows; Parquet keeps it once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


@pytest.mark.system
@pytest.mark.parametrize(("rows", "text"), [(30_000_000, "x"), (1_000_000, "x" * 100_000)])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_small_file_of_very_many_rows_is_refused_soon(tmp_path, rows, text, grouped):
    """Found by its footer, or by what it unpacks to: reading went on for minutes."""
    table = pa.table({"text": repeat_text(rows, text), "label": repeat_text(rows, "a")})
    if grouped:  # plain strings for whoever reads it
        table = table.replace_schema_metadata({})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=10**9, store_schema=not grouped)
    assert (tmp_path / "t.parquet").stat().st_size < 300_000
    said = quote_refusal(tmp_path / "t.parquet")
    assert "unpacks to more than a hundred times its size" in said or "holds more than 4,000,000" in said


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (pa.array([{"a": "x"}]), "column 'text' holds lists, records or bytes"),
        (pa.array([b"text"]), "column 'text' holds lists, records or bytes"),
        (pa.array([decimal.Decimal("1.5")]), "column 'text' holds lists, records or bytes"),
        (pa.array([1.5]), "row 1 has no text"),
        (pa.array([None], pa.string()), "row 1 has no text"),
    ],
)
def test_a_column_that_is_no_text_is_refused(tmp_path, column, complaint):
    parquet.write_table(pa.table({"text": column, "label": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=complaint):
        read_records(tmp_path / "t.parquet", Columns())


@pytest.mark.system
@pytest.mark.parametrize(
    ("make", "complaint"),
    [  # as functions: what is large is made for its test, and not by whoever imports this file
        (lambda: pa.array([["x"] * 10_000_000]), "column 'text' holds lists, records or bytes"),
        (lambda: pa.array(["x" * 100_000_000]), "unpacks to more than a hundred times its size"),
    ],
)
def test_a_cell_that_is_very_large_is_refused_before_it_is_unpacked(tmp_path, make, complaint):
    table = pa.table({"text": make(), "label": ["a"]})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    assert complaint in quote_refusal(tmp_path / "t.parquet")


def zigzag(number: int, length: int = 0) -> bytes:
    """A number as Thrift's compact protocol writes it, in at least so many bytes."""
    left, found = 2 * number, []
    while left or len(found) < max(length, 1):
        found.append(left & 127)
        left >>= 7
    return bytes([each | 128 for each in found[:-1]] + found[-1:])


def with_a_lying_footer(path: Path) -> None:
    """Let a footer say of each size that it is a thousand bytes, wherever that is not what the file itself has."""
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:-8]
    group = parquet.ParquetFile(path).metadata.row_group(0)
    for size in {group.column(0).total_uncompressed_size, group.total_byte_size}:
        claimed = zigzag(size)
        assert claimed in footer
        footer = footer.replace(claimed, zigzag(1_000, len(claimed)))
    path.write_bytes(data[:start] + footer + data[-8:])


@pytest.mark.system
def test_a_page_that_unpacks_to_more_than_the_footer_says_is_refused_and_makes_no_text(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"text": ["x" * 150_000_000], "label": ["a"]})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    with_a_lying_footer(path)
    assert parquet.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1_000
    said = run_bounded(CODE.replace("# bound", "limit(2.0)"), path)
    assert "unpacks to more than a hundred times its size" in said


@pytest.mark.system
def test_columns_that_are_not_asked_for_are_not_loaded_and_rows_come_in_batches(tmp_path):
    path = tmp_path / "t.parquet"
    image = np.random.default_rng(0).bytes(1_000_000)
    images = pa.array([image[number:] for number in range(40)])
    texts = [f"a text of number {number}" for number in range(40)]
    parquet.write_table(pa.table({"image": images, "text": texts, "label": ["a", "b"] * 20}), path)
    said, most = run_bounded(f"{CODE}print(pyarrow.default_memory_pool().max_memory())", path).splitlines()
    assert said == "read 40"
    assert int(most) < 4_000_000


def test_texts_that_share_beginnings_are_not_unpacked(tmp_path):
    texts = ["x" * 10_000 + str(number) for number in range(2_000)]
    table = pa.table({"text": texts, "label": ["a"] * 2_000})
    encoding = {"text": "DELTA_BYTE_ARRAY", "label": "PLAIN"}
    parquet.write_table(table, tmp_path / "t.parquet", use_dictionary=False, column_encoding=encoding)
    assert "uses the encoding DELTA_BYTE_ARRAY" in quote_refusal(tmp_path / "t.parquet")


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "none"])
def test_usual_parquet_files_are_read_whole(tmp_path, compression):
    rows = [{"text": f"text {n} of {'word ' * (n % 50)}", "label": "ab"[n % 2]} for n in range(3_000)]
    table = pa.Table.from_pylist(rows)
    table = table.set_column(1, "label", table["label"].dictionary_encode())
    parquet.write_table(table, tmp_path / "t.parquet", compression=compression, row_group_size=700)
    found = read_records(tmp_path / "t.parquet", Columns())
    assert len(found.texts) == 3_000
    assert set(found.labels) == {"a", "b"}
    assert found.texts[51] == "text 51 of word"


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_table_that_is_a_pipe_does_not_block(tmp_path, name):
    os.mkfifo(tmp_path / name)
    begun = time.monotonic()
    for read, more in ((require_records, "--private "), (read_records, Columns())):
        with pytest.raises(DataError, match="is a file; give a folder"):
            read(tmp_path / name, more)
    assert time.monotonic() - begun < 5


def test_of_texts_in_folders_none_is_left_out_without_a_word(tmp_path):
    for label in "ab":
        (tmp_path / "data" / label).mkdir(parents=True)
        (tmp_path / "data" / label / "1.txt").write_text(f"a text of {label}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2.txt").write_text("a third text")
    (tmp_path / "data" / "c").symlink_to(tmp_path / "elsewhere")
    assert sorted(read_records(tmp_path / "data", Columns()).labels) == ["a", "b", "c"]
    os.mkfifo(tmp_path / "data" / "a" / "3.txt")
    (tmp_path / "data" / "a" / "4.txt").symlink_to("nowhere")
    (tmp_path / "data" / "a" / "5.txt").write_bytes(b"")
    (tmp_path / "data" / "b" / "round").symlink_to(tmp_path / "data")
    with pytest.raises(DataError) as error:
        read_records(tmp_path / "data", Columns())
    said = ("a/3.txt cannot be read: it is not a regular", "a/4.txt cannot be read: No such file")
    said += ("a/5.txt is empty", "b/round is the same folder as another folder")
    assert all(each in str(error.value) for each in said)


@pytest.mark.parametrize("kept", [range(1, 12), (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11)])
def test_a_row_less_in_a_table_moves_nobody_but_the_next_in_turn(tmp_path, kept):
    """Rows have no name of their own: those below one that is taken out move up, and their turns stay."""
    rows: list[dict[str, object]] = [{"text": f"text {n}", "label": "ab"[n % 2]} for n in range(12)]
    some = [rows[number] for number in kept]
    for seed in range(8):
        whole = read_records(write(tmp_path / f"{seed}.csv", rows), Columns()).draw(2, seed)[0]
        fewer = read_records(write(tmp_path / f"{seed}-less.csv", some), Columns()).draw(2, seed)[0]
        assert len(set(whole.texts) ^ set(fewer.texts)) in (0, 2)


def test_columns_of_secrets_are_read_in_one_spelling_and_stay_with_their_texts(tmp_path):
    found = read_records(write(tmp_path / "t.csv"), Columns(unit="patient", secrets=("patient", "label")))
    assert found.marks == (("zo\u00e9", "animal"), ("p2", "thing"), ("zo\u00e9", "animal"), ("p3", "thing"))
    part = found.subset([3, 0]).dataset("patient")
    assert part.marks == (("p3", "thing"), ("zo\u00e9", "animal"))
    assert [each.name for each in part.privacy_units()] == ["Zo\u00e9", "p3"]
    assert (part.items, part.targets.tolist()) == (("\u00e9t\u00e9", "a bird"), [1, 0])
