"""PE's nearest-candidate search over embeddings on disk, beside FAISS's flat index, in time and in memory.

    .venv/bin/python benchmarks/nearest.py --out docs/results/nearest

Both sides answer the same records in turns, each in a process of its own with the same number of threads, reading
the same file, which is mapped into memory; who goes first alternates. Ours repeats its preparation of the candidates
in every turn. Peak memory is that of our process at the end, with what it has read of the file. The file (2.5 GB at
full size) lies in a temporary folder and is deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 4096
Search = Callable[[slice], np.ndarray]


@dataclass(frozen=True)
class Data:
    """How embeddings are drawn: ``N(centre, spread^2)`` around one of the centres, which are N(0, 1); 0: none."""

    name: str
    clusters: int = 0
    spread: float = 1.0

    def draw(self, rng: np.random.Generator, count: int, centres: np.ndarray) -> np.ndarray:
        noise = np.float32(self.spread) * rng.standard_normal((count, centres.shape[1]), dtype=np.float32)
        return noise + centres[rng.integers(len(centres), size=count)] if self.clusters else noise


DATA = {
    data.name: data
    for data in (
        Data("random"),
        Data("100 clusters, spread 1", 100, 1.0),
        Data("100 clusters, spread 0.2", 100, 0.2),
    )
}


def write(data: Data, sizes: argparse.Namespace, folder: Path) -> None:
    """Records and candidates as ``.npy`` files, block by block."""
    rng = np.random.default_rng(sizes.seed)
    centres = rng.standard_normal((max(data.clusters, 1), sizes.width), dtype=np.float32)
    np.save(folder / "candidates.npy", data.draw(rng, sizes.candidates, centres))
    shape = (sizes.records, sizes.width)
    stored = np.lib.format.open_memmap(folder / "records.npy", "w+", dtype=np.float32, shape=shape)
    for start in range(0, sizes.records, BLOCK):
        stored[start : start + BLOCK] = data.draw(rng, min(BLOCK, sizes.records - start), centres)
    stored.flush()


def ours(folder: Path, threads: int) -> Search:
    import torch

    from pcevolve.public.geometry.distances import nearest_of_some

    torch.set_num_threads(threads)  # as many as torch was told to use
    candidates = np.load(folder / "candidates.npy").astype(np.float64)
    records = np.load(folder / "records.npy", mmap_mode="r")
    return lambda rows: nearest_of_some(records, np.arange(rows.start, rows.stop), candidates)[:, 0]


def faiss_flat(folder: Path, threads: int) -> Search:
    import faiss

    faiss.omp_set_num_threads(threads)
    records = np.load(folder / "records.npy", mmap_mode="r")
    index = faiss.IndexFlatL2(records.shape[1])
    index.add(np.load(folder / "candidates.npy"))
    return lambda rows: index.search(records[rows], 1)[1][:, 0]


def peak_bytes() -> int:
    """Largest resident set of this process; ``ru_maxrss`` would contain that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def serve(
    prepare: Callable[[Path, int], Search], folder: Path, given: argparse.Namespace, pipe: Connection
) -> None:
    """Answer slices of records with seconds, processor seconds and answers, until None; then the peak memory."""
    search = prepare(folder, given.threads)
    search(slice(0, min(64, given.records)))
    pipe.send("ready")
    while (rows := pipe.recv()) is not None:
        started, busy = time.perf_counter(), time.process_time()
        answers = search(rows)
        pipe.send((time.perf_counter() - started, time.process_time() - busy, answers))
    pipe.send(peak_bytes())


def turns(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Both sides on every part of the records, one after the other."""
    context, workers = get_context("spawn"), []
    pipes: dict[str, Connection] = {}
    for name, prepare in (("ours", ours), ("faiss", faiss_flat)):
        pipes[name], theirs = context.Pipe()
        workers.append(context.Process(target=serve, args=(prepare, folder, given, theirs), daemon=True))
        workers[-1].start()
        theirs.close()
        pipes[name].recv()
    seconds: dict[str, list[float]] = {name: [] for name in pipes}
    busy: dict[str, list[float]] = {name: [] for name in pipes}
    answers: dict[str, list[np.ndarray]] = {name: [] for name in pipes}
    edges = np.linspace(0, given.records, given.turns + 1).astype(int)
    for turn in range(given.turns):
        for name in sorted(pipes, reverse=turn % 2 == 0):
            pipes[name].send(slice(int(edges[turn]), int(edges[turn + 1])))
            took, worked, answered = pipes[name].recv()
            seconds[name].append(took)
            busy[name].append(worked)
            answers[name].append(answered)
    peaks = {}
    for name, pipe in pipes.items():
        pipe.send(None)
        peaks[name] = pipe.recv()
    for worker in workers:
        worker.join()
    both = {name: np.concatenate(found) for name, found in answers.items()}
    return summary(seconds, busy, peaks) | agreement(folder, both["ours"], both["faiss"])


def summary(
    seconds: dict[str, list[float]], busy: dict[str, list[float]], peaks: dict[str, int]
) -> dict[str, Any]:
    """Totals, their ratio, and the smallest and largest ratio of a turn."""
    totals = {name: sum(each) for name, each in seconds.items()}
    ratios = [theirs / mine for mine, theirs in zip(seconds["ours"], seconds["faiss"], strict=True)]
    return {
        "ours_seconds": totals["ours"],
        "faiss_seconds": totals["faiss"],
        "ratio": totals["faiss"] / totals["ours"],
        "ratio_of_turns": [min(ratios), max(ratios)],
        "processor_ratio": sum(busy["faiss"]) / sum(busy["ours"]),
        "ours_peak_bytes": peaks["ours"],
        "faiss_peak_bytes": peaks["faiss"],
    }


def agreement(folder: Path, mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Where the answers differ, float64 distances say which is nearer."""
    records = np.load(folder / "records.npy", mmap_mode="r")
    candidates = np.load(folder / "candidates.npy").astype(np.float64)
    differ = np.flatnonzero(mine != theirs)
    nearer = [
        np.square(records[i] - candidates[mine[i]]).sum()
        - np.square(records[i] - candidates[theirs[i]]).sum()
        for i in differ
    ]
    return {
        "same_answers": float(1 - len(differ) / len(mine)),
        "ours_nearer": int(np.sum(np.less(nearer, 0))),
        "faiss_nearer": int(np.sum(np.greater(nearer, 0))),
    }


def markdown(report: dict[str, Any]) -> str:
    """The report as a page."""
    sizes = report["sizes"]
    lines = [
        "# Nearest candidates: time and memory",
        "",
        f"{sizes['records']:,} records, {sizes['candidates']:,} candidates, {sizes['width']} dimensions, float32 on "
        f"disk; {sizes['threads']} threads on {report['processor']}; {report['versions']}.",
        "Written by `benchmarks/nearest.py`, which says how. *Ratio*: seconds of `faiss.IndexFlatL2` over ours,",
        "in brackets its range over the turns; above 1 we are faster. *Processor*: the same ratio of processor time,",
        f"which other jobs on the machine disturb less. {report['note']}".rstrip(),
        "",
        "| data | ours (s) | FAISS (s) | ratio | processor | our peak memory | same answers | nearer: ours / FAISS |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in report["rows"].items():
        low, high = row["ratio_of_turns"]
        lines.append(
            f"| {name} | {row['ours_seconds']:.1f} | {row['faiss_seconds']:.1f} | "
            f"{row['ratio']:.2f} [{low:.2f}, {high:.2f}] | {row['processor_ratio']:.2f} | "
            f"{row['ours_peak_bytes'] / 2**30:.2f} GiB | "
            f"{row['same_answers']:.4%} | {row['ours_nearer']} / {row['faiss_nearer']} |"
        )
    return "\n".join(lines) + "\n"


def processor() -> str:
    """Model name, where the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())


def versions() -> str:
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "faiss-cpu"))


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """One row for each kind of data."""
    rows = {}
    for name in given.data or DATA:
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            write(DATA[name], given, Path(folder))
            rows[name] = turns(Path(folder), given)
    names = ("records", "candidates", "width", "threads", "turns", "seed")
    return {
        "note": given.note,
        "sizes": {name: getattr(given, name) for name in names},
        "processor": processor(),
        "versions": versions(),
        "data": [asdict(DATA[name]) for name in rows],
        "rows": rows,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--width", type=int, default=2_048)
    parser.add_argument("--data", action="append", choices=DATA, help="default: all of them")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="where the temporary folder is made")
    parser.add_argument("--out", type=Path, help="also write OUT.json and OUT.md")
    parser.add_argument("--note", default="", help="a remark on the circumstances, for the report")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(given.threads)
    report = measure(given)
    text = json.dumps(report, indent=1) + "\n"
    if given.out:
        given.out.with_suffix(".json").write_text(text)
        given.out.with_suffix(".md").write_text(markdown(report))
    print(text if given.json else markdown(report), end="")


if __name__ == "__main__":
    main()
