"""What a person sees while private images are read and embedded: a share and the time that is left.

How many there are is private. At a terminal, which is the owner's, the time that is left is told as well; in a
log, which is kept, it is not, because it follows from their number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pcevolve.private.telling import Told
from pcevolve.run.progress import LINE_SECONDS


@contextmanager
def told_of(console: Console, title: str) -> Iterator[Told]:
    """Tell about one piece of long work; what ends before anybody would ask leaves no trace.

    Args:
        console: Where.
        title: What is done.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("ETA"))
    bar = Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    task = bar.add_task(title, total=None)
    said = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal said
        bar.update(task, completed=done, total=total)
        if not console.is_terminal and time.monotonic() - said > LINE_SECONDS:
            said = time.monotonic()
            console.print(f"{title}: {done / total:.0%}")

    with bar:
        yield told
