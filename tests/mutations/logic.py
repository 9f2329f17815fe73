"""Logic that decides privacy, a record, an audit or an answer, each piece changed as a slip would change it.

They stand in ``slips.txt``, which says how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SLIPS = Path(__file__).with_name("slips.txt")
_HEAVY = " (heavy)"


@dataclass(frozen=True)
class Change:
    """A slip, and what has to notice it.

    Attributes:
        module: Below ``pcevolve`` unless it says otherwise.
        slip: In words.
        text: Of the module, once there.
        instead: What stands there instead.
        tests: Files or folders below ``tests``.
        heavy: Whether those count that ``--fast`` leaves out.
    """

    module: str
    slip: str
    text: str
    instead: str
    tests: str
    heavy: bool = False


def slips() -> Iterator[Change]:
    """Read the list."""
    for room in SLIPS.read_text(encoding="utf-8").split("\n[")[1:]:
        head, *slips = room.split("\n* ")
        module, tests = head.split("] ", 1)
        for each in slips:
            slip, *lines = each.rstrip("\n").split("\n")
            old, new = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
            yield Change(module, slip, old, new, tests.removesuffix(_HEAVY), tests.endswith(_HEAVY))
