"""One round of Private Evolution at the papers' sizes: seconds and memory of each stage, and how they grow.

    .venv/bin/python -m benchmarks.papers_sizes

Two rounds: 5,000 candidates of one class, and two classes of 5,000 prototypes, every one of which is sent back. The
gate, the record, the ledger and the audit are the client's own, over a generator in this process that draws coarse
patterns; candidates are embedded by the bundled encoder. The votes of 300,000 private images are counted apart, from
embeddings that are drawn: by the client's selector, by FAISS's flat index, and by a histogram as DPSDA's paper defines
it over that index. What private images take to be embedded is told at the rate that candidates had. Each size is a
process of its own with one thread, and so is a quarter of it: a stage that takes four times as long for four times as
much is linear, one that takes sixteen times as long is quadratic.
"""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import parser_of
from benchmarks.stages import Stages

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
SIDE = 32
ROUNDS: dict[str, tuple[int, dict[str, int]]] = {
    "5,000 candidates": (1, {"candidates": 5000, "prototypes": 40}),
    "2 x 5,000 prototypes": (2, {"candidates": 5000, "prototypes": 5000}),
}
PRIVATE, WIDTH, SIGMA, THRESHOLD = 300_000, 256, 2.0, 4.0
PARTS = 4
"""How many times smaller the size is with which a full one is compared."""
ORDER = (
    "embed candidates", "gate", "record", "ledger and choice", "generator", "dataset and pages", "anything else",
    "audit: bodies", "audit: requests", "audit: images that left", "audit: choices", "audit: dataset", "audit: rest",
)  # fmt: skip


class Patterns:
    """A generator that draws coarse patterns."""

    size = (SIDE, SIDE)

    def create(self, prompt: str, seeds: Sequence[int]) -> list[bytes]:
        """Draw one for each seed."""
        return [_png(seed, None) for seed in seeds]

    def vary(self, image: Any, prompt: str, strength: float, seeds: Sequence[int]) -> list[bytes]:  # noqa: ANN401
        """Blend another pattern into one."""
        return [_png(seed, image) for seed in seeds]


def _png(seed: int, before: Any) -> bytes:  # noqa: ANN401
    import numpy as np
    from PIL import Image

    pixels = np.kron(np.random.default_rng(seed).integers(0, 256, (8, 8, 3)), np.ones((4, 4, 1)))
    if before is not None:
        pixels = (pixels + np.asarray(before.convert("RGB"))) / 2
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def a_round(name: str, parts: int) -> dict[str, Any]:
    """Make one round and audit it; seconds of processor time by stage."""
    import pcevolve

    classes, sizes = ROUNDS[name]
    scaled: dict[str, Any] = {option: value // parts for option, value in sizes.items()}
    stages = _watch_run()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_private(folder / "private", classes)
        worked = time.process_time()
        pcevolve.evolve(
            private=folder / "private", domain="pattern", provider=pcevolve.Provider(model="patterns"),
            out=folder / "run", quiet=True, yes=True, ledger=folder / "ledger" / "ledger.sqlite",
            method="pe", iterations=1,
            shots=5, encoder="bundled", unlabelled=classes == 1, at_once=1, pad_selection=0.0,
            **scaled,
        )  # fmt: skip
        stages.busy["anything else"] = time.process_time() - worked - sum(stages.busy.values())
        run_gib = _gib()
        requests = _audit(folder / "run", stages)
    return {
        "requests": requests,
        "embedded": classes * sizes["candidates"] // parts,
        "seconds": {part: round(stages.busy[part], 2) for part in ORDER},
        "run_gib": run_gib,
        "audit_gib": _gib(),
    }


def _watch_run() -> Stages:
    from pcevolve.keeper.private.judge import PrivateJudge
    from pcevolve.public.selectors.choosing import Chooser
    from pcevolve.public.transcript.bodies import Bodies
    from pcevolve.public.transcript.log import Transcript
    from pcevolve.wire import execution, reaching
    from pcevolve.wire.egress import gate
    from pcevolve_benchmarks import in_process

    stages = Stages()
    stages.watch(Chooser, "_look", "embed candidates")
    for method in ("_begin", "_end", "_send"):
        stages.watch(gate.Gate, method, "gate")
    stages.watch(in_process.InProcess, "send", "generator")
    # The generator takes the place of the network.
    vars(reaching)["HttpTransport"] = lambda *_: in_process.InProcess(Patterns(), "patterns")
    stages.watch(Transcript, "append", "record")
    stages.watch(Bodies, "_write", "record")
    stages.watch(PrivateJudge, "release", "ledger and choice")
    for function in ("publish", "write_report", "write_preview"):
        stages.watch(execution, function, "dataset and pages")
    return stages


def _write_private(folder: Path, classes: int) -> None:
    """Five images of each class; of one class without a folder for it."""
    for label in range(classes):
        own = folder / (f"c{label}" if classes > 1 else "")
        own.mkdir(parents=True)
        for number in range(5):
            (own / f"{number}.png").write_bytes(_png(10**6 + 9 * label + number, None))


def _audit(run: Path, stages: Stages) -> int:
    """Audit a run, and return how many requests it made."""
    from pcevolve.auditing import Audit, checks
    from pcevolve.auditing.rerun import Rerun

    looked = stages.busy["embed candidates"]
    for function, part in (
        ("find_body_faults", "audit: bodies"),
        ("find_request_faults", "audit: images that left"),
    ):
        plain = getattr(checks, function)
        # A generator works when it is read.
        setattr(checks, function, lambda run, plain=plain: list(plain(run)))
        stages.watch(checks, function, part)
    stages.watch(Rerun, "of", "audit: requests")
    stages.watch(checks, "_choices", "audit: choices")
    stages.watch(checks, "_rebuilt", "audit: dataset")
    before, worked = sum(stages.busy.values()), time.process_time()
    audited = Audit.of(run)
    inside = sum(stages.busy.values()) - before
    broken = [each.claim for each in audited.findings if not each.holds]
    assert not broken, broken
    # What the audit embeds belongs to its own choices.
    stages.busy["audit: choices"] += stages.busy["embed candidates"] - looked
    stages.busy["embed candidates"] = looked
    stages.busy["audit: rest"] = time.process_time() - worked - inside
    return audited.run.requests


def votes(name: str, parts: int, way: str) -> dict[str, Any]:
    """Count the votes of drawn private embeddings in one of three ways."""
    import faiss
    import numpy as np

    from pcevolve.public.dp.mechanisms import SeededNoise
    from pcevolve.public.privacy import Event
    from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
    from pcevolve.public.selectors.votes import Votes

    classes, sizes = ROUNDS[name]
    random = np.random.default_rng(0)
    count, pool = PRIVATE // parts, sizes["candidates"]
    own = random.standard_normal((count, WIDTH), np.float32)
    pools = tuple(random.standard_normal((pool, WIDTH), np.float32) for _ in range(classes))
    targets = np.arange(count) % classes
    before, worked, began = _gib(), time.process_time(), time.perf_counter()
    if way == "ours":
        labels = tuple(f"c{place}" for place in range(classes))
        scene = SelectionInput(
            labels, tuple(each.astype(np.float64) for each in pools), pool, 1, 1, 1, 0, "add-remove"
        )
        private = PrivateEmbeddings(own, targets, np.arange(count))
        Votes().measure(private, scene, (Event("gaussian", "2", 1),), SeededNoise(0))
    for target, candidates in enumerate(pools if way != "ours" else ()):
        index = faiss.IndexFlatL2(WIDTH)
        index.add(candidates)
        nearest = index.search(own[targets == target], 1)[1]
        if way == "DPSDA":
            histogram = np.zeros(pool)
            for place, cast in Counter(nearest.ravel().tolist()).items():
                histogram[place] = cast
            np.maximum(histogram + random.normal(0, SIGMA, pool) - THRESHOLD, 0)
    return {
        "busy": round(time.process_time() - worked, 2),
        "wall": round(time.perf_counter() - began, 2),
        "gib": round(_gib() - before, 2),
    }


def _gib() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def _alone(*words: object) -> dict[str, Any]:
    """Do a piece of work in a process of its own, which computes with one thread."""
    command = [sys.executable, "-m", "benchmarks.papers_sizes", "--part", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **ONE_THREAD}
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    print(*words, found, file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure everything, write it as JSON, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/papers-sizes.json"))
    parser.add_argument("--part", nargs="+", help="for its own processes")
    asked = parser.parse_args()
    if asked.part:
        name, parts, *way = asked.part
        print(json.dumps(votes(name, int(parts), *way) if way else a_round(name, int(parts))))
        return
    began = os.getloadavg()[0]
    found: dict[str, Any] = {"rounds": {}, "votes": {}, "private": PRIVATE, "width": WIDTH}
    for name in ROUNDS:
        found["votes"][name] = {
            way: [_alone(name, parts, way) for parts in (PARTS, 1)] for way in ("ours", "FAISS", "DPSDA")
        }
        found["rounds"][name] = [_alone(name, parts) for parts in (PARTS, 1)]
    found["load"] = [round(began, 1), round(os.getloadavg()[0], 1)]
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(_table(found))


def _table(found: dict[str, Any]) -> str:
    lines = [
        "| stage | " + " | ".join(f"{name} (growth)" for name in found["rounds"]) + " |",
        "|---|---|---|",
    ]
    rates = []
    for _, whole in found["rounds"].values():
        rates.append(whole["seconds"]["embed candidates"] / whole["embedded"])
    lines.append(
        f"| embed {PRIVATE:,} private images, at the candidates' rate | "
        + " | ".join(f"{rate * PRIVATE / 60:.0f} min ({1000 * rate:.1f} ms each)" for rate in rates) + " |"
    )  # fmt: skip
    for way in ("ours", "FAISS", "DPSDA"):
        cells = [each[way] for each in found["votes"].values()]
        told = (
            f"{full['busy']:.0f} s ({full['busy'] / part['busy']:.1f}), {full['gib']} GiB"
            for part, full in cells
        )
        lines.append(f"| votes, {way} | {' | '.join(told)} |")
    for stage in ORDER:
        cells = [(part["seconds"][stage], full["seconds"][stage]) for part, full in found["rounds"].values()]
        told = (f"{full:.1f} s" + (f" ({full / part:.1f})" if part > 0.2 else "") for part, full in cells)
        lines.append(f"| {stage} | {' | '.join(told)} |")
    lines.append(
        "| requests; most memory of run, of both | "
        + " | ".join(
            f"{full['requests']:,}; {full['run_gib']}, {full['audit_gib']} GiB"
            for _, full in found["rounds"].values()
        )
        + " |"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
