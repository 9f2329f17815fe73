"""The demonstration over several seeds: what ``dp-means`` is worth beside ``random`` and text-to-image alone.

    .venv/bin/pcevolve-server serve &
    .venv/bin/python benchmarks/demo_seeds.py --seeds 6 --out runs/demo-seeds --json

Each seed is a run of its own: other images from the provider, other noise. The private shots and the test data are
the same in all of them, so the intervals do not cover the choice of shots.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from pcevolve.evaluation.accuracy import AccuracyTest
from pcevolve.run.checks import checked
from pcevolve.run.demo import OPTIONS
from pcevolve.run.execution import execute
from pcevolve.run.scoring import Scores
from pcevolve.run.settings import RunSettings

METHODS = ("dp-means", "random")


def measure(seed: int, method: str, out: Path, api: str, changes: dict[str, object]) -> tuple[float, float]:
    """Accuracy of the initial and of the final dataset of one run."""
    folder = out / f"{method}-{seed}"
    options = OPTIONS | changes | {"seed": seed, "method": method, "api": api, "out": folder}
    settings = RunSettings.of(options | {"ledger": folder / "private" / "ledger.sqlite"})
    outcome = execute(checked(settings, resume=True))
    if outcome.components.test is None:
        raise SystemExit("the demonstration's data have no test part")
    scores = Scores.of(
        outcome, AccuracyTest.on(outcome.components.test, outcome.components.encoder), every=False
    )
    return scores.by_iteration[0].mean, scores.by_iteration[-1].mean


def summary(values: list[float]) -> dict[str, object]:
    """Mean and standard error over runs."""
    sem = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return {"mean": float(np.mean(values)), "sem": sem, "runs": values}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--api", default="http://127.0.0.1:8000")
    parser.add_argument("--epsilon", default=OPTIONS["epsilon"])
    parser.add_argument("--candidates", type=int, default=OPTIONS["candidates"])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    found: dict[str, list[float]] = {"t2i": [], **{method: [] for method in METHODS}}
    changes = {"epsilon": given.epsilon, "candidates": given.candidates}
    for seed in range(given.seeds):
        for method in METHODS:
            initial, final = measure(seed, method, given.out, given.api, changes)
            found[method].append(final)
        found["t2i"].append(initial)
    result = {name: summary(values) for name, values in found.items()}
    if given.json:
        print(json.dumps(result, indent=1))
        return
    for name, row in result.items():
        print(f"{name:10} {row['mean']:.1%} ± {row['sem']:.1%} (s.e. over {given.seeds} runs)")


if __name__ == "__main__":
    main()
