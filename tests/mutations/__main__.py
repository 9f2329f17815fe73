"""Which test fails when logic, or a constant, that decides something is changed: ``make mutations``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

# What the tests import is imported once; nothing of ours is, before a fork has changed it.
import fastapi  # noqa: F401
import httpx  # noqa: F401
import hypothesis  # noqa: F401
import pydantic  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn  # noqa: F401
import torchvision  # noqa: F401
from tests.mutations.mutants import all_changes, try_change


def main() -> int:
    """Try the mutants and print a table in Markdown; 1 if one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="only mutants of whose module or slip one of these is a part"
    )
    parser.add_argument("--part", default="1/1", help="the first of four parts, all mutants dealt out: 1/4")
    parser.add_argument("--out", type=Path, help="a file for the outcomes, as JSON")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    named = [
        each
        for each in all_changes()
        if not given.words or any(word in f"{each.module}: {each.slip}" for word in given.words)
    ]
    outcomes = []
    print("| module | slip | killed by | s |\n|---|---|---|---|", flush=True)
    for change in named[part - 1 :: parts]:
        outcomes.append(try_change(change))
        print(outcomes[-1].row, flush=True)
        if given.out is not None:
            given.out.write_text(
                json.dumps([asdict(each) for each in outcomes], indent=1, ensure_ascii=False)
            )
    alive = sum(each.killed is None for each in outcomes)
    print(f"\n{len(outcomes) - alive} of {len(outcomes)} mutants were killed")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main())
