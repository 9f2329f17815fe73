"""``pcevolve-bench table``: a table of real runs against a real server, that goes on where it was."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from pcevolve import verify
from pcevolve_benchmarks.texts.bench import TextBench, Wanted
from pcevolve_benchmarks.texts.page import Row
from pcevolve_benchmarks.texts.studies import STUDIES
from support.examples import at_night
from support.processes import Client
from support.served import wait_until

SMALLER = ("--candidates", "3", "--iterations", "1", "--seeds", "1")
SMALL = ("--smoke", *SMALLER, "--judge", "bundled", "--processes", "2")


def ask(bench: Client, *arguments: object) -> dict:
    done = bench.succeed("table", *arguments)
    return json.loads(done.stdout.splitlines()[-1])


@at_night
def test_a_table_of_real_runs_that_is_killed_goes_on_where_it_was(bench: Client, tmp_path: Path):
    """One test, because the runs take half a minute."""
    out = tmp_path / "out"
    kept = kill(bench, out, tmp_path / "log")
    made = ask(bench, "figure6", *SMALL, "--out", out)
    assert made["faults"] == []
    assert count_measured(out) >= kept >= 1
    rows = made["judges"]["bundled"]["rows"]
    methods = {"random", "B (t2i)", "private shots (no guarantee)", "PE", "PCEvolve", "dp-means (ours)"}
    assert rows.keys() == methods
    assert all(0 <= row["digits"]["mean"] <= 1 for row in rows.values())
    assert rows["private shots (no guarantee)"]["digits"]["mean"] > 0.8
    runs = sorted((out / "runs").iterdir())
    assert len(runs) == 5
    assert all(verify(run).holds for run in runs)
    assert (out / "tables" / "smoke" / "figure6-digits.png").read_bytes()[:4] == b"\x89PNG"

    log = (out / "server.log").read_bytes()
    assert ask(bench, "figure6", *SMALL, "--out", out) == made
    assert (out / "server.log").read_bytes() == log, "a server was started for nothing"

    with closing(sqlite3.connect(out / "figures.sqlite")) as connection, connection:
        connection.execute(
            "DELETE FROM figures WHERE cell = (SELECT cell FROM cells WHERE options LIKE '%\"pe\"%')"
        )
    assert ask(bench, "figure6", *SMALL, "--out", out)["judges"] == made["judges"]
    assert sorted((out / "runs").iterdir()) == runs

    done = bench("table", "figure6", *SMALL, "--out", out, "--api", "http://127.0.0.1:9")
    assert done.returncode == 1
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["faults"]) == 5
    assert found["judges"]["bundled"]["rows"]["private shots (no guarantee)"]


def kill(bench: Client, out: Path, log: Path) -> int:
    """Kill a bench when its first run is measured; none of its processes stays. How many cells it has measured."""
    with log.open("wb") as said:
        begun = psutil.Popen(
            bench.find_installed("table", "figure6", *SMALL, "--out", out),
            env=bench.environment(),
            stdout=said,
            stderr=said,
        )
    wait_until(lambda: count_measured(out) >= 1, 400)
    started = begun.children(recursive=True)
    assert len(started) >= 3, "workers and a server"
    begun.kill()
    _, alive = psutil.wait_procs([begun, *started], timeout=60)
    assert not alive
    return count_measured(out)


def count_measured(out: Path) -> int:
    """Cells that are in the database."""
    if not (out / "figures.sqlite").is_file():
        return 0
    with closing(sqlite3.connect(out / "figures.sqlite", timeout=60)) as connection:
        begun = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'cells'").fetchone()[0]
        return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0]) if begun else 0


@at_night
@pytest.mark.parametrize(("table", "own"), [("text", "secpe"), ("text-secrets", "secpe, r/p = 10")])
def test_a_bench_of_texts_ends_in_a_line_of_json_and_goes_on_where_it_was(
    bench: Client, tmp_path: Path, table: str, own: str
):
    words = ("table", table, "--smoke", "--seeds", 1, "--out", tmp_path / "bench")
    done = bench.succeed(*words)
    found = json.loads(done.stdout.splitlines()[-1])
    assert {"random", own, own.replace("secpe", "aug-pe"), "shots"} <= set(found)
    folder = tmp_path / "bench" / table
    assert f"| {own} | 1 |" in (folder / f"{table}-smoke.md").read_text()
    kept = (folder / f"{table}-smoke.jsonl").read_bytes()
    assert bench(*words).stdout == done.stdout
    assert (folder / f"{table}-smoke.jsonl").read_bytes() == kept


JUDGED = [f"{judge} {what}" for judge in ("ngrams", "words") for what in ("dataset", "private", "both")]


class Measured(TextBench):
    """A bench whose runs are made up, and end after the first row where ``interrupted`` is there."""

    def _measure_by(self, writer: str, wanted: Sequence[Wanted]) -> Iterator[Row]:
        for world, seed, name, served in wanted:
            said = {"requests": 3, "seconds": 1.0, "next word": 0.2, "next word private": 0.3}
            of = {"world": world, "seed": seed, "method": name, "writer": served}
            yield {**of, **said, **dict.fromkeys(JUDGED, 0.5 + seed / 10)}
            if (self.out / "interrupted").exists():
                raise KeyboardInterrupt


def test_rows_of_texts_that_are_measured_are_kept_and_only_the_others_are_measured(tmp_path: Path):
    study, told = STUDIES["text-secrets"], list[tuple[int, int]]()
    table = Measured(study, tmp_path, small=True, seeds=1)
    (tmp_path / "interrupted").touch()
    with pytest.raises(KeyboardInterrupt):
        table.make(lambda *counts: told.append(counts))
    (first,) = map(json.loads, (tmp_path / "text-secrets-smoke.jsonl").read_text().splitlines())
    (tmp_path / "interrupted").unlink()
    rows = table.make(lambda *counts: told.append(counts))
    assert rows[0] == first
    assert [row["method"] for row in rows] == list(study.small)
    assert told == [(number, len(rows)) for number in range(1, len(rows) + 1)]
    shown = (tmp_path / "text-secrets-smoke.md").read_text()
    assert all(f"| {name} | 1 | 3 | 1 | 50.0 |" in shown for name in study.small)
    assert Measured(study, tmp_path, small=True, seeds=2).make(lambda *_: None)[: len(rows)] == rows
