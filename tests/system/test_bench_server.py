"""The benchmark of the server: it runs, goes on where it was, compares equal work, and its page says what was found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.server import raw, rounds
from benchmarks.server.extent import DEFAULT, TINY, Extent
from benchmarks.server.ratios import NAMES, fixed_part, headline, rows
from benchmarks.server.rounds import Journal, Round
from benchmarks.server.served import GUIDANCE, SIDE, STEPS, STRENGTH
from pcevolve_server.work import Recipe
from support.examples import at_night

ROOT = Path(__file__).parents[2]


def one(server: str, processor: float = 0.016, turn: int = 1) -> Round:
    """A round in which the pipeline takes 64 ms for a run and 10 ms for each image in it."""
    pipeline = {batch: 0.01 + 0.064 / batch for batch in (1, 16, 32, 64)}
    cell = {"processor": processor, "wall": 0.02, "p50": 0.5, "p99": 0.6, "mib": 900.0}
    verbs = ("t2i", "i2i")
    return Round(turn, server, dict.fromkeys(verbs, pipeline), {verb: {1: cell, 32: cell} for verb in verbs})


@at_night
def test_the_benchmark_runs_and_ends_in_a_line_that_names_task_server_and_clients(tmp_path: Path):
    options = ["--tiny", "--rounds", tmp_path / "rounds.jsonl", "--out", tmp_path / "results"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", *map(str, options)],
        cwd=ROOT,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for name in NAMES:
        assert all(found[name][task][DEFAULT]["2"] > 0 for task in ("t2i", "i2i"))
    assert "| i2i | exact | 2 |" in (tmp_path / "results" / "server.md").read_text()
    assert not (tmp_path / "rounds.jsonl").exists()


def test_an_interrupted_benchmark_measures_only_what_is_missing(tmp_path: Path, monkeypatch):
    asked: list[tuple[int, str]] = []

    def measured(turn: int, server: str, extent: Extent) -> Round:
        asked.append((turn, server))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return one(server, turn=turn)

    monkeypatch.setattr(rounds, "measured", measured)
    extent = replace(TINY, servers=(DEFAULT, "merge"))
    with pytest.raises(KeyboardInterrupt):
        Journal(tmp_path / "rounds", "here", "new").completed(extent, 1)
    found = Journal(tmp_path / "rounds", "here", "new").completed(extent, 1)
    assert asked == [(1, DEFAULT), (1, "merge"), (1, "merge")]
    assert found == [one(DEFAULT), one("merge")]


def test_the_pipeline_varies_an_image_in_as_many_steps_as_the_server():
    steps: list[int] = []
    hook = raw.model().text_to_image.unet.register_forward_hook(lambda *_: steps.append(1))
    raw.run_batch("i2i", 1)
    hook.remove()
    assert len(steps) == Recipe(SIDE, SIDE, STEPS, GUIDANCE, strength=STRENGTH).runs


def test_ratios_are_of_the_best_batch_of_the_servers_batch_and_of_one():
    found = headline(rows([one(DEFAULT)]))
    assert found["images_per_second"]["i2i"][DEFAULT] == {"1": 50.0, "32": 50.0}
    assert found["ratio_to_raw_pipeline"]["t2i"][DEFAULT]["32"] == round(0.011 / 0.016, 3)
    assert found["ratio_to_raw_pipeline_at_same_batch"]["t2i"][DEFAULT]["32"] == round(0.014 / 0.016, 3)
    assert found["ratio_to_one_at_a_time"]["t2i"][DEFAULT]["32"] == round(0.074 / 0.016, 3)


def test_what_a_run_costs_however_full_it_is_follows_from_the_batches():
    assert fixed_part(one(DEFAULT).raw["t2i"]) == pytest.approx((0.064, 0.01))
    assert fixed_part({1: 9.0, 16: 0.05, 64: 0.06})[0] == 0.0  # by noise it may come out negative
