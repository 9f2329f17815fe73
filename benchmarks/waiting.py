"""How long people wait: commands that start, an audit, an evaluation, a run beside its generator, an installation.

    .venv/bin/python -m benchmarks.waiting

With ``--before TREE`` an earlier version that is checked out there is measured beside this one.

Both versions do the same work in processes of their own, in turns; who goes first alternates. Ratios are of processor
time, which other programs on the machine change least. The run is the demonstration's, against a stand-in in another
process that sleeps for each image as long as the bundled model computes, one request after the other: what its wall
time is above that is the client's own; a larger run has the same opening and sections. The audit is of the smaller run;
the evaluation is of random images. The client is installed into a fresh environment by pip, from the package registry
that pip is set up for.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
PER_IMAGE = 0.035
"""Seconds that the bundled model takes for an image of 64 x 64 in four steps, on one core of two."""
SIDE = 64
CLASSES, MADE, OWN, TESTED = 9, 450, 180, 180
STARTS: dict[str, list[str]] = {
    "`--help`": ["--help"],
    "`check`": ["check", "nowhere"],
    "`preview`": ["preview", "--private", "digits", "--domain", "x", "--out", "nowhere", "--api", "ftp://x"],
    "`status`": ["status", "--ledger", "{run}.sqlite"],
    "`budget`": ["budget", "show", "--ledger", "{run}.sqlite"],
}
CLI = "import sys; from pcevolve.app.cli.main import main; main(sys.argv[1:])"


def main() -> None:
    """Measure, print the table, and write all figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="a checked-out earlier version")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/waiting.json"))
    parser.add_argument("--only", nargs="*", help="words of rows that are measured, all if none are given")
    parser.add_argument("--part", help="for its own processes")
    parser.add_argument("given", nargs="*")
    asked, more = parser.parse_known_args()
    if asked.part:
        PARTS[asked.part](*asked.given, *more)
        return
    with tempfile.TemporaryDirectory() as folder, _stand_in() as address:
        found = _measure(asked, Path(folder), address)
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(_table(found))


def _measure(asked: argparse.Namespace, folder: Path, address: str) -> dict[str, Any]:
    load = os.getloadavg()[0]
    works: dict[str, Callable[[Path, int], dict[str, float]]] = {
        "run of 400 images": lambda tree, turn: _run(tree, folder / f"{tree.name}-{turn}", address, 20),
        "`audit` of that": lambda tree, turn: _time(
            tree, ["-c", CLI, "audit", str(folder / f"{tree.name}-0")]
        ),
        f"`evaluate --mix`, {MADE} + {OWN} images": lambda tree, turn: _part(tree, "evaluate", str(folder)),
    }
    works["run of 2,000 images"] = lambda tree, turn: _run(
        tree, folder / f"{tree.name}-large-{turn}", address, 100
    )
    works["installation of the client alone"] = lambda tree, turn: _install(
        tree, folder / f"installed-{tree.name}-{turn}"
    )
    for name, words in STARTS.items():
        works[name] = partial(_start, words, folder)
    trees = {"before": asked.before, "after": ROOT} if asked.before else {"after": ROOT}
    rows: dict[str, Any] = {}
    for name, work in works.items():
        if asked.only and not any(word in name for word in asked.only):
            continue
        took: dict[str, list[dict[str, float]]] = defaultdict(list)
        for turn in range(asked.turns):
            for version in sorted(trees, reverse=turn % 2 == 0):
                took[version].append(work(trees[version].resolve(), turn))
        rows[name] = {version: _middle(each) for version, each in took.items()}
        print(name, rows[name], file=sys.stderr, flush=True)
    return {
        "rows": rows,
        "turns": asked.turns,
        "cores": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
    }


def _start(words: Sequence[str], folder: Path, tree: Path, turn: int) -> dict[str, float]:
    """A command about the first run of a version, or about nothing."""
    return _time(tree, ["-c", CLI, *(word.format(run=folder / f"{tree.name}-0") for word in words)])


def _middle(several: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(median(each[name] for each in several), 3) for name in several[0]}


def _time(tree: Path, arguments: Sequence[str]) -> dict[str, float]:
    """Wall and processor seconds of a Python that sees a version's sources, and its figures, if it prints any."""
    paths = [ROOT, *(tree / part / "src" for part in ("client", "shared", "api_server"))]
    return _clock([sys.executable, *arguments], tree, {"PYTHONPATH": os.pathsep.join(map(str, paths))})


def _clock(command: Sequence[str], folder: Path, more: dict[str, str]) -> dict[str, float]:
    """Wall and processor seconds of a command in a folder, and its figures, if it prints any."""
    environment = {**os.environ, **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode not in (0, 2, 3, 4):
        raise SystemExit(f"{command}: {done.stderr[-2000:]}")
    return {"wall": wall, "busy": busy, **(json.loads(last) if last.startswith('{"') else {})}


def _install(tree: Path, into: Path) -> dict[str, float]:
    """Install the client alone, and return what that took, and the gigabytes that are there then."""
    subprocess.run([sys.executable, "-m", "venv", str(into)], check=True)
    command = [str(into / "bin" / "pip"), "install", "--quiet", "--no-cache-dir", "./shared", "./client"]
    took = _clock(command, tree, {})
    size = sum(each.lstat().st_size for each in into.rglob("*") if not each.is_dir())
    return {**took, "gigabytes": size / 1e9}


def _part(tree: Path, name: str, *given: str) -> dict[str, float]:
    return _time(tree, [str(Path(__file__)), "--part", name, *given])


def _run(tree: Path, out: Path, address: str, candidates: int) -> dict[str, float]:
    return _part(tree, "run", str(out), address, str(candidates))


def run(out: str, address: str, candidates: str) -> None:
    """Make the demonstration's run, and print the seconds of its parts as the main thread passes them."""
    began = time.perf_counter()
    import pcevolve
    from benchmarks.stages import Stages
    from pcevolve.keeper.private.judge import PrivateJudge
    from pcevolve.public.transcript.bodies import Bodies
    from pcevolve.public.transcript.log import Transcript
    from pcevolve.wire import execution
    from pcevolve.wire.egress import pace
    from pcevolve.wire.egress.pace import Pace
    from pcevolve.wire.egress.questions import OpeningQuestions

    stages = Stages()
    seconds, watch = stages.seconds, stages.watch
    watch(pace, "wait", "waits for the API")
    watch(Transcript, "append", "record and fsync")
    watch(Bodies, "_write", "record and fsync")
    watch(PrivateJudge, "show", "embeds what is left")
    watch(PrivateJudge, "release", "votes and pays")
    watch(Pace, "_pad", "fills its ticks")
    watch(execution, "publish", "dataset and pages")
    watch(execution, "write_report", "dataset and pages")
    watch(OpeningQuestions, "hello", "greeting")
    private = _private(Path(f"{out}-private"))
    seconds["imports"] = time.perf_counter() - began
    pcevolve.evolve(
        private=private, domain="blood smear", epsilon="10", shots=10, iterations=1, steps=4, guidance=1.0, batch=30,
        candidates=int(candidates), seed=2026, encoder="bundled", quiet=True, yes=True, out=out,
        ledger=f"{out}-ledger/ledger.sqlite",
        provider=pcevolve.Provider(f"{address}/images", dialect="getimg"),
    )  # fmt: skip
    whole = time.perf_counter() - began
    manifest = [
        json.loads(line) for line in (Path(out) / "transcript" / "log.jsonl").read_text().splitlines()
    ]
    images = sum(len(each["event"].get("outputs", ())) for each in manifest)
    seconds["anything else"] = whole - sum(seconds.values())
    own = images * PER_IMAGE
    print(json.dumps({"images": images, "generator": own, "run": whole, "ratio": whole / own, **seconds}))


def _private(folder: Path) -> Path:
    """Four classes of ten coarse patterns; nothing is held out, so no judge is trained at the run's end."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(1)
    for name in "abcd":
        (folder / name).mkdir(parents=True)
        for number in range(10):
            pixels = np.kron(random.integers(0, 256, (8, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


def evaluate(folder: str) -> None:
    """Evaluate random images by the judges that need no download, and print when its estimate was right."""
    import numpy as np
    from PIL import Image

    from pcevolve.keeper.evaluation.labelled import Labelled
    from pcevolve.keeper.finished.evaluating import Evaluation
    from pcevolve.keeper.finished.judging import load_judges

    random = np.random.default_rng(0)

    def some(count: int) -> Labelled:
        targets = np.arange(count) % CLASSES
        pixels = (random.integers(0, 200, (96, 96, 3)) + 6 * target for target in targets)
        images = [Image.fromarray(each.astype(np.uint8)) for each in pixels]
        return Labelled(images, targets.astype(np.int64), tuple(map(str, range(count))))

    told: list[tuple[float, int]] = []
    judges = load_judges((), "bundled", "cpu", "image")
    root = Path(folder) / "evaluated"
    (root / "private").mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    made = Evaluation(
        root, tuple(f"c{place}" for place in range(CLASSES)), some(MADE), judges, some(TESTED), some(OWN), None, True,
        lambda done, whole: told.append((time.perf_counter() - began, whole)), "image",
    )  # fmt: skip
    made.judge()
    took, (first, expected) = time.perf_counter() - began, told[0]
    print(json.dumps({"seconds": took, "expected": first + expected}))


def _table(found: dict[str, Any]) -> str:
    """The rows in Markdown: processor seconds and wall seconds of both versions, and their ratio."""
    from benchmarks.rows import table

    heads = ["what", "before: processor, wall", "after: processor, wall", "before / after, processor"]
    lines = []
    for name, row in found["rows"].items():
        cells = [
            f"{row[each]['busy']:.2f} s, {row[each]['wall']:.2f} s" if each in row else ""
            for each in ("before", "after")
        ]
        ratio = f"{row['before']['busy'] / row['after']['busy']:.2f}" if "before" in row else ""
        lines.append([name, *cells, ratio])
    return table(heads, lines)


@contextmanager
def _stand_in() -> Iterator[str]:
    """The address of a provider in another process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.waiting", "--part", "serve"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def serve() -> None:
    """Answer as a model would that makes one image after the other."""
    from benchmarks.digests import StandIn

    turn = threading.Lock()

    class Slow(StandIn):
        side = SIDE

        def make(self, fields: dict[str, Any], seeds: list[int]) -> list[dict[str, Any]]:
            with turn:
                began = time.monotonic()
                answer = super().make(fields, seeds)
                time.sleep(max(0.0, PER_IMAGE * len(seeds) - (time.monotonic() - began)))
            return answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


PARTS: dict[str, Callable[..., None]] = {"run": run, "evaluate": evaluate, "serve": serve}


if __name__ == "__main__":
    main()
