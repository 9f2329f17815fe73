"""Lines of a terminal: titles at the left, and what is told under each. Imports nothing that takes long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from rich.table import Table
from rich.text import Text

Line: TypeAlias = tuple[str, str]
"""A title and what is told under it."""
TITLE_WIDTH = 9


def lay_out(lines: Iterable[Line]) -> Table:
    """Lines as a terminal shows them: titles at the left, and what is long beneath itself."""
    table = Table.grid(padding=(0, 1))
    table.add_column(min_width=TITLE_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in lines:
        table.add_row(title, Text(text))  # a name in brackets is no style
    return table
