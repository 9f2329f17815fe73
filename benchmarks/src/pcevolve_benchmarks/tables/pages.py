"""A table as Markdown with its picture, and what both say as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pcevolve.durable import write_durably
from pcevolve.pages.drawing import svg
from pcevolve_benchmarks.tables.bars import bars
from pcevolve_benchmarks.tables.curves import chart
from pcevolve_benchmarks.tables.drawing import spelled, unit
from pcevolve_benchmarks.tables.results import Judged
from pcevolve_benchmarks.tables.table import Table


def markdown(
    table: Table,
    tables: Sequence[Judged],
    facts: Sequence[str],
    pictures: Sequence[str],
    below: Sequence[str] = (),
) -> str:
    """The page of a table: facts, figures, further lines, pictures."""
    lines = [f"# {table.title}", "", f"After {table.source}. {' '.join(facts)}", ""]
    for each in tables:
        lines += _by_judge(each)
    lines += below
    lines += [line for name in pictures for line in (f"![{Path(name).stem}]({name})", "")]
    return "\n".join(lines)


def _by_judge(judged: Judged) -> Iterator[str]:
    counted = unit(judged.measure)
    vote = " (**voted**: its encoder selected, which flatters what was selected)" if judged.voted else ""
    yield f"## Judge: {judged.judge}{vote}; {counted}"
    yield ""
    yield "| | " + " | ".join(map(_cell, judged.columns)) + " |"
    yield "|---|" + "---|" * len(judged.columns)
    for row in judged.rows:
        cells = [spelled(judged.values.get((row, column)), judged.measure) for column in judged.columns]
        yield f"| {_cell(row)} | " + " | ".join(cells) + " |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """For the name of a file."""
    return "".join(c if c.isalnum() else "-" for c in text)


def as_json(tables: Sequence[Judged]) -> dict[str, Any]:
    """Every figure, by judge, row and column."""
    return {
        each.judge: {
            "voted": each.voted,
            "rows": {
                row: {
                    column: {"mean": value.mean, "half": value.half, "seeds": value.seeds}
                    for column in each.columns
                    if (value := each.values.get((row, column))) is not None
                }
                for row in each.rows
            },
        }
        for each in tables
    }


def written(
    folder: Path,
    table: Table,
    tables: Sequence[Judged],
    facts: Sequence[str],
    more: Sequence[str],
    below: Sequence[str] = (),
) -> Path:
    """Write a table's page, and its picture: curves where it has an axis, else bars.

    Args:
        folder: Where.
        table: Which.
        tables: Its figures by judge.
        facts: Sentences about what was run.
        more: Names of further pictures in the folder.
        below: Further lines of the page.
    """
    pictures = list(more)
    for each in tables:
        name = f"{table.name}-{_plain(each.judge)}-{_plain(each.measure)}.svg"
        curves = table.axis and each.measure != "best"
        drawn = svg(chart(table, each), each.columns) if curves else bars(table.title, each)
        write_durably(folder / name, drawn, 0o644)
        pictures.append(name)
    page = folder / f"{table.name}.md"
    write_durably(page, markdown(table, tables, facts, pictures, below).encode(), 0o644)
    return page
