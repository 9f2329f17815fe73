"""Tables of texts in each kind of file that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet


def write_table(path: Path, rows: list[dict[str, object]]) -> Path:
    """A table of the kind that its name says."""
    names = list(rows[0])
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        mark = "\t" if path.suffix == ".tsv" else ","
        quoted = [[f'"{str(row[name]).replace(chr(34), chr(34) * 2)}"' for name in names] for row in rows]
        path.write_text("\ufeff" + "\n".join([mark.join(names), *map(mark.join, quoted)]) + "\n", "utf-8")
    return path
