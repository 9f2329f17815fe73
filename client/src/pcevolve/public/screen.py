"""Lines and tables of a terminal. Imports nothing that takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pcevolve.errors import blank_out

if TYPE_CHECKING:
    from rich.table import Table

Line: TypeAlias = tuple[str, str]
"""A title and what is told under it."""
TITLE_WIDTH = 9
ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Is called with how many private images are done, and of how many; both are private."""


LINE_SECONDS = 10.0
"""Between two lines about long work in a log."""
MINUTE, HOUR = 60.0, 3600.0


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def spell_estimate(seconds: float) -> str:
    """About how long, in words that seldom change."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < HOUR:
        return f"about {round(seconds / MINUTE)} min"
    return f"about {seconds / HOUR:.1f} h"


@dataclass(frozen=True)
class Fact:
    """Something about a run for its owner's screen.

    Attributes:
        text: What whoever asks for every fact is told.
        brief: What everybody is told instead: None for the same, and empty for nothing.
    """

    title: str
    text: str
    brief: str | None = None

    def line(self, verbose: bool) -> Line:
        """Return the title and what is said under it: all of it, or in brief."""
        return self.title, self.text if verbose or self.brief is None else self.brief


def choose_lines(facts: Iterable[Fact], verbose: bool) -> list[Line]:
    """Facts as they are told; less those that nobody who is told in brief is told."""
    return [line for each in facts if (line := each.line(verbose))[1]]


def lay_out_facts(
    facts: Iterable[Fact], verbose: bool, heading: str | None = None, before: Iterable[Line] = ()
) -> Table:
    """Facts as a terminal shows them, behind some lines."""
    return lay_out([*before, *choose_lines(facts, verbose)], heading)


def lay_out(lines: Iterable[Line], heading: str | None = None) -> Table:
    """Lines as a terminal shows them: titles at the left, and what is long beneath itself."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.title, table.title_justify = heading, "left"
    table.add_column(min_width=TITLE_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in lines:
        table.add_row(title, Text(text))  # a name in brackets is no style
    return table


WIDE = 200
"""Columns of a table that goes into a file or a pipe, where no screen has an edge."""
NARROW = 80
"""Columns of a table that any terminal can show as it is, as does a page that it is pasted into."""


def print_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    columns: int = WIDE,
    lines: bool = False,
) -> None:
    """Print rows of text under their headings; what is too long for a terminal is folded, and nothing is left out."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", show_lines=lines)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        # Cells are others' text: nothing in them is a style, a command to the terminal, or half a character.
        table.add_row(*(Text("\n".join(map(blank_out, cell.split("\n")))) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = columns
    console.print(table)
