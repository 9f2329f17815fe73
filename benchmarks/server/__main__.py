"""The API server under load against the pipeline behind it, in processor time, in turns.

    make bench-server
    .venv/bin/python -m benchmarks.server --turns 3 --out docs/results
    .venv/bin/python -m benchmarks.server --short
    .venv/bin/python -m benchmarks.server --tiny

Each client asks for one image after the other, the hardest load there is: whatever the server does not batch costs as
much as one image at a time. A turn takes a quarter of an hour on two quiet cores. What was measured is kept in --rounds
after each server, so that a run of the same code that was interrupted goes on where it was; it goes when everything is
measured.
The last line is JSON; --out writes server.md and server.json.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from benchmarks.rows import parser_of
from benchmarks.server.page import write
from benchmarks.server.ratios import headline, rows
from benchmarks.server.rounds import FULL, SHORT, TINY, Journal, code, machine


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    given = _parse(arguments)
    extent = TINY if given.tiny else SHORT if given.short else FULL
    journal = Journal(given.rounds, machine(), code())
    found = journal.complete(extent, given.turns)
    table = rows(found)
    result = {"machine": machine(), "turns": given.turns, "rows": table, **headline(table)}
    if given.out:
        write(given.out, result)
    journal.finish(extent)
    print(json.dumps(headline(table)))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--tiny", action="store_true", help="one server, two clients: whether it runs at all")
    parser.add_argument("--short", action="store_true", help="the default server alone: three minutes a turn")
    parser.add_argument("--turns", type=int, default=1, help="of everything, of which the medians count")
    parser.add_argument("--out", type=Path, help="folder for server.md and server.json")
    parser.add_argument("--rounds", type=Path, default=Path("runs/bench-server.jsonl"), help="results so far")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
