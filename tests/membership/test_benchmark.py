"""The benchmark runs: a table that nobody can make again is worth little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.examples import at_night

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]


@at_night
def test_it_writes_a_table_of_three_clients(tmp_path: Path):
    options = ["--methods", "pe", "--epsilons", "4", "10", "--runs", "5", "--rounds", "1", "--out", tmp_path]
    command = [sys.executable, "-m", "benchmarks.membership", *options]
    subprocess.run([str(each) for each in command], check=True, cwd=ROOT, capture_output=True)
    rows = json.loads((tmp_path / "membership.json").read_text())["results"]
    assert [(each["noise"], each["epsilon"]) for each in rows] == [
        ("as calibrated", 4),
        ("30 % too small", 4),
        ("as calibrated", 10),
        ("none (leaky client)", 10),
    ]
    assert (tmp_path / "membership.md").read_text().count("| `pe` |") == len(rows)
