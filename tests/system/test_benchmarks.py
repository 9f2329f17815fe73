"""The benchmarks run: a table that nobody can make again is worth little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.selectors.__main__ import main as compare

ROOT = Path(__file__).parents[2]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.fixture(scope="module")
def selectors(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("selectors")
    trials, results = str(out / "trials.jsonl"), str(out / "results")
    options = ["--grid", "small", "--processes", "1", "--trials", trials, "--out", results]
    done = run("-m", "benchmarks.selectors", *options)
    assert done.returncode == 0, done.stderr
    return out, options


def test_the_selector_benchmark_writes_its_table_its_figures_and_its_picture(selectors):
    results = selectors[0] / "results"
    found = json.loads((results / "selectors.json").read_text())
    assert [each["method"] for each in found] == ["t2i", "dp-means"]
    for each in found:
        voted = {verdict["judge"]: verdict["voted"] for verdict in each["verdicts"]}
        assert voted["bundled"]
        assert not voted["cnn"]
        assert all(0 <= verdict["accuracy"] <= 1 for verdict in each["verdicts"])
    assert [each["images"] for each in found] == [6, 24]
    assert (results / "selectors.png").read_bytes().startswith(b"\x89PNG")
    assert "| dp-means | 1 |" in (results / "selectors.md").read_text()


def test_the_selector_benchmark_runs_nothing_twice(selectors, capsys):
    out, options = selectors
    before = (out / "trials.jsonl").read_bytes()
    compare(options)
    assert "0 to run" in capsys.readouterr().err
    assert (out / "trials.jsonl").read_bytes() == before


def test_the_selector_benchmark_names_the_methods_when_one_is_misspelt(selectors):
    with pytest.raises(SystemExit, match=r"the method dp-maens.*dp-means, t2i"):
        compare([*selectors[1], "--only", "dp-means,dp-maens"])


def test_the_selector_benchmark_keeps_published_rows_that_it_would_not_run_again(selectors):
    out, options = selectors
    table = out / "results" / "selectors.json"
    rows = json.loads(table.read_text())
    other = {**rows[0], "key": "mnist:1,2,6/t2i", "world": "mnist:1,2,6"}
    table.write_text(json.dumps([*rows, other]))
    compare(options)
    assert json.loads(table.read_text()) == [*rows, other]


def test_the_nearest_candidate_benchmark_finds_the_same_as_faiss():
    sizes = ["--records", "3000", "--candidates", "200", "--width", "64", "--turns", "2", "--json"]
    done = run("benchmarks/nearest.py", *sizes)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_the_comparison_with_peers_wants_their_package(tmp_path: Path, capsys):
    with pytest.raises(SystemExit):
        peers.main(["--checkout", str(tmp_path), "--work", str(tmp_path / "work")])
    assert "there is no pe/runner, so it is no checkout of DPSDA" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
