"""``pcevolve audit-dp``: options, progress and the printed verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pcevolve.dp_audit.claim import Claim, Verdict
from pcevolve.privacy import Budget, Relation

LINE_SECONDS = 10.0


def audit_dp(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Whose claim to test: pcevolve, pe, ...")],
    epsilon: Annotated[str, typer.Option(help="What a whole run claims, > 0.")],
    delta: Annotated[
        float | None, typer.Option(help="δ of the claim, >= 0 and < 1; the method's own if not given.")
    ] = None,
    relation: Annotated[Relation, typer.Option(help="Neighbour relation.")] = "replace-one",
    images_per_unit: Annotated[
        int, typer.Option(min=1, help="Images in the privacy unit that changes (--unit-map).")
    ] = 1,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds of the run, T.")] = 1,
    runs: Annotated[
        int, typer.Option(min=100, help="Simulated runs on each of two datasets: half a minute for 20000.")
    ] = 20_000,
    confidence: Annotated[float, typer.Option(help="Probability that the bound is right, >= 0.95.")] = 0.95,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeatable, with seeded noise in place of a real run's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON to stdout instead of a table.")] = False,
) -> None:
    """Try to tell two neighbouring datasets apart by what a method releases; exit 1 if it leaks more than it claims.

    Reads no private data and spends no budget: the datasets are made up, the mechanisms are those of a real run.
    """
    from pcevolve.dp_audit.audit import (
        audit_method,  # SciPy takes a second to load; --help should not
    )
    from pcevolve.methods import default_delta
    from pcevolve.public.figures import parse_delta, parse_epsilon

    budget = Budget(parse_epsilon(epsilon), parse_delta(default_delta(method) if delta is None else delta))
    claim = Claim(method, budget, relation, images_per_unit, rounds, runs, confidence)
    with _progress(f"Audit of {method}", 2 * runs) as tick:
        verdict = audit_method(claim, seed, tick)
    _show(verdict, as_json)
    if not verdict.holds:
        raise typer.Exit(1)


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(verdict.as_dict(), indent=1))
    else:
        from pcevolve.run.progress import facts

        Console().print(facts("Privacy audit", verdict.as_dict()))
    typer.echo(verdict.sentence, err=True)


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar with ETA on stderr; in a log file, a line every ten seconds."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("ETA"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        started = said = time.monotonic()
        done = 0

        def tick() -> None:
            nonlocal done, said
            done += 1
            bar.advance(task)
            now = time.monotonic()
            if not console.is_terminal and now - said > LINE_SECONDS:
                said, left = now, (now - started) / done * (total - done)
                console.print(f"{title}: {done}/{total} simulated runs, about {left:.0f} s left")

        yield tick
