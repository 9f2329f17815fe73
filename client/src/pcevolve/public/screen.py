"""Print lines and tables on a terminal. Slow imports are deferred."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pcevolve.errors import blank_out

if TYPE_CHECKING:
    from rich.table import Table

Line: TypeAlias = tuple[str, str]
"""A title and its text."""
TITLE_WIDTH = 9
ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called with the number of private items done and the total number; both are private."""


LINE_SECONDS = 10.0
"""Seconds between two progress lines in a log."""
MINUTE, HOUR = 60.0, 3600.0


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def spell_estimate(seconds: float) -> str:
    """Describe an estimated duration so coarsely that the text seldom changes."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < HOUR:
        return f"about {round(seconds / MINUTE)} min"
    return f"about {seconds / HOUR:.1f} h"


@dataclass(frozen=True)
class Fact:
    """A fact about a run for its owner's screen.

    Attributes:
        text: The text in verbose mode.
        brief: The text in normal mode: None for the same text, empty to omit the fact.
    """

    title: str
    text: str
    brief: str | None = None

    def line(self, verbose: bool) -> Line:
        """Return title and text, in full or in brief."""
        return self.title, self.text if verbose or self.brief is None else self.brief


def choose_lines(facts: Iterable[Fact], verbose: bool) -> list[Line]:
    """Return the facts as lines, without those that are omitted in brief."""
    return [line for each in facts if (line := each.line(verbose))[1]]


def lay_out_facts(
    facts: Iterable[Fact], verbose: bool, heading: str | None = None, before: Iterable[Line] = ()
) -> Table:
    """Lay out facts for a terminal, below the lines of ``before``."""
    return lay_out([*before, *choose_lines(facts, verbose)], heading)


def lay_out(lines: Iterable[Line], heading: str | None = None) -> Table:
    """Lay out lines for a terminal: titles on the left, long texts wrapped in their column."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.title, table.title_justify = heading, "left"
    table.add_column(min_width=TITLE_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in lines:
        table.add_row(title, Text(text))  # Text: rich would read a name in brackets as a style
    return table


WIDE = 200
"""Width in columns of a table in a file or pipe, where no screen limits it."""
NARROW = 80
"""Width in columns that fits any terminal, and any page that the table is pasted into."""


def print_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    columns: int = WIDE,
    lines: bool = False,
) -> None:
    """Print rows of text under their headings. Long cells are wrapped, and nothing is omitted."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", show_lines=lines)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        # Cells hold foreign text, which must not set styles, control the terminal, or break characters.
        table.add_row(*(Text("\n".join(map(blank_out, cell.split("\n")))) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = columns
    console.print(table)
