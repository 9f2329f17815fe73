"""Which test fails when something that decides is changed: ``make mutations``.

python -m tests.mutations                          # every slip of the table
python -m tests.mutations egress                   # those of modules with this word
python -m tests.mutations --random 25 egress dp    # 25 of each zone, drawn, against the modules' own test files
"""

from __future__ import annotations

import argparse
import sys
import time

# What the tests import is imported once; nothing of ours is, before a fork has changed it.
import fastapi  # noqa: F401
import httpx  # noqa: F401
import hypothesis  # noqa: F401
import pydantic  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn  # noqa: F401
import torchvision  # noqa: F401
from tests.mutations.mutants import Change, draw_from_zone, find_killer, read_slips


def main() -> int:
    """Try the mutants and print a table in Markdown; 1 if one of the table's survives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of modules' names; with --random zones")
    parser.add_argument("--random", type=int, help="draw so many from each zone")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.random:
        for zone in given.words:
            try_all(zone, draw_from_zone(zone, given.random, given.seed))
        return 0
    slips = [
        each for each in read_slips() if not given.words or any(word in each.module for word in given.words)
    ]
    return bool(try_all("the table", slips))


def try_all(name: str, changes: list[Change]) -> int:
    """Try changes, print their fates, and return how many survived."""
    print("| module | slip | killed by | s |\n|---|---|---|---|", flush=True)
    alive = 0
    for change in changes:
        started = time.monotonic()
        killer = find_killer(change)
        alive += killer is None
        slip, fate = change.slip.replace("|", r"\|"), "**SURVIVED**" if killer is None else f"`{killer}`"
        print(f"| `{change.module}` | `{slip}` | {fate} | {time.monotonic() - started:.0f} |", flush=True)
    print(f"\n{name}: {len(changes) - alive} of {len(changes)} mutants were killed\n", flush=True)
    return alive


if __name__ == "__main__":
    sys.exit(main())
