"""All selectors at equal (ε, δ, relation) on real private images, with the bundled generator and encoder.

    make bench-selectors                           # continues where it was cut off
    make bench-selectors JUDGE=cnn,mobilenet       # the tables and the picture by these judges
    .venv/bin/python -m benchmarks.selectors --help

It writes docs/results/selectors.{md,png,json}.

Every trial is a whole run of the client's own loop, judge, ledger and selectors; only HTTP is left out, and the API
server's generator runs in this process. Noise is seeded, so a trial can be repeated: benchmarks protect nobody.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.rows import parser_of
from benchmarks.selectors.worker import models, one, prepare

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, then write the tables."""
    given = _parse(arguments)
    from benchmarks.selectors.grid import trials
    from benchmarks.selectors.tables import strangers, write

    todo = trials(given.grid, given.seeds)
    done = {**_read_published(given.out / "selectors.json"), **_read_known(given.trials)}
    known = list(done)
    wanted = _select(given.only, {trial.method for trial in todo})
    missing = [trial for trial in todo if trial.key not in done and trial.method in wanted]
    console = Console(stderr=True)
    console.print(f"{len(todo)} trials, {len(missing)} to run, {given.processes} processes")
    for number, result in enumerate(_run(missing, given), 1):
        done[result["key"]] = result
        left = (time.monotonic() - STARTED) / number * (len(missing) - number)
        console.print(
            f"{number}/{len(missing)} about {left / 60:.0f} min left: {result['key']} {spell_accuracies(result)}"
        )
    shown = dict.fromkeys([*(trial.key for trial in todo), *known])
    results = [done[key] for key in shown if key in done]
    write(given.out, results, _heads(given.judge, strangers(results)))


STARTED = time.monotonic()
HERE = Path(__file__).parent
NEIGHBOURS = 5
"""Trials that one process takes at once: those of one draw share pictures, and two at a time would make them twice."""


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--grid", choices=("full", "small"), default="full", help="every method in every cell, or one cell"
    )
    parser.add_argument(
        "--judge",
        help="judges that every table and the picture show beside the voter, with commas between; all that did not "
        "vote unless given",
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--only", help="run these methods' trials alone, with commas between; write what is known"
    )
    parser.add_argument("--minutes", type=float, default=600, help="start no trial after this time")
    parser.add_argument("--processes", type=int, default=max(os.cpu_count() or 1, 1))
    parser.add_argument("--trials", type=Path, default=HERE / "trials.jsonl", help="results so far")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    return parser.parse_args(arguments)


def _select(only: str | None, methods: set[str]) -> set[str]:
    wanted = {*only.split(",")} if only else methods
    if unknown := wanted - methods:
        names = [", ".join(sorted(each)) for each in (unknown, methods)]
        sys.exit(f"--only: no trial has the method {names[0]}; there are {names[1]}")
    return wanted


def _heads(asked: str | None, known: Sequence[str]) -> Sequence[str]:
    """Whom ``--judge`` names, if all of them took no part and measured something; all who did unless it is given."""
    heads = asked.split(",") if asked else known
    if unknown := set(heads) - set(known):
        sys.exit(
            f"--judge: {', '.join(sorted(unknown))} voted or measured nothing; there are {', '.join(known)}"
        )
    return heads


def spell_accuracies(result: dict) -> str:
    """Accuracies of all judges, short; the voter's in brackets."""
    shown = (f"{each['judge']} {each['accuracy']:.3f}" for each in result["verdicts"] if not each["voted"])
    voted = (f"({each['judge']} {each['accuracy']:.3f})" for each in result["verdicts"] if each["voted"])
    return " ".join((*shown, *voted))


def _read_known(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    return _of_these_models(json.loads(line) for line in path.read_text().splitlines())


def _read_published(path: Path) -> dict[str, dict]:
    """Results that an earlier run wrote down for everybody."""
    return _of_these_models(json.loads(path.read_text())) if path.exists() else {}


def _of_these_models(found: Iterable[dict]) -> dict[str, dict]:
    """Results by trial, without those of other weights than today's, which say nothing about these."""
    return {each["key"]: each for each in found if each.get("models") == models()}


def _run(missing: list, given: argparse.Namespace) -> Iterator[dict]:
    shared = Path("runs/bench-selectors.pictures")
    shared.mkdir(parents=True, exist_ok=True)
    jobs = [(trial, STARTED + given.minutes * 60, shared) for trial in missing]
    with given.trials.open("a") as log:
        for result in _results(jobs, given.processes):
            if result is not None:
                log.write(json.dumps(result) + "\n")
                log.flush()
                yield result


def _results(jobs: list[Any], processes: int) -> Iterator[dict | None]:
    """In the order in which they are ready; one process is this one, which needs no second set of libraries."""
    if processes == 1 and jobs:
        prepare()
        yield from map(one, jobs)
    elif jobs:
        with multiprocessing.get_context("spawn").Pool(processes, prepare) as pool:
            yield from pool.imap_unordered(one, jobs, chunksize=NEIGHBOURS)


if __name__ == "__main__":
    main()
