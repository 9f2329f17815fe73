"""The one number that says how runs are written, and what is said of a run that another version wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pcevolve.errors import UsageError
from pcevolve_shared.reading import open_file, parse_json

FORMAT: Final = 2
"""Of record and manifest; it goes up with every change that another version could misread."""
NUMBERLESS: Final = "0.1"
"""The version of pcevolve whose runs have no number."""
MOST_OPENING_BYTES: Final = 100_000
_MOST_LOG_BYTES: Final = 2**62


def require_format(log: Path, root: Path) -> None:
    """Refuse a run that another version wrote, by the first line of its record.

    Args:
        log: The record's file; whether it is there, whole and plain is for others to say.
        root: The run's folder.

    Raises:
        UsageError: It begins with the opening line of another version; which version reads the run.
    """
    try:
        with open_file(log, _MOST_LOG_BYTES) as file:
            event = _event(file.readline(MOST_OPENING_BYTES))
    except OSError:
        return
    found = event.get("format")
    if event.get("kind") != "opened" or found == FORMAT:
        return
    if isinstance(found, int) and found > FORMAT:
        said = f"a later pcevolve (format {found}, and this one reads {FORMAT}): use that version"
    else:
        said = f"pcevolve {NUMBERLESS}: audit it, or go on with it, with that version"
    raise UsageError(f"{root} was made by {said}")


def _event(line: bytes) -> dict[str, Any]:
    """Parse a line's event; empty for what is no line."""
    try:
        event = parse_json(line)["event"]
    except (ValueError, LookupError, TypeError):
        return {}
    return event if isinstance(event, dict) else {}
