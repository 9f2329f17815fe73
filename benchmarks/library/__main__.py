"""What a dataset out of a library of public images is worth: runs of the client against a real server, over HTTP.

::

    .venv/bin/python -m benchmarks.library --library lib/public_images --private reserved/"blood smear" \
        --work runs/library --out docs/results/library

For each seed, ten images of each class are the private shots and the others the test. Each method's release is judged
by linear heads on encoders that did not vote, beside the shots themselves. Each is run twice: with the classes' own
names, which may be words that the library knows, and with names that say nothing, so that private images alone tell the
classes apart. Runs that are there are not made again; those of the first seed are audited.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.judges import ONNX
from benchmarks.library.judges import Judge
from pcevolve.audit import audit
from pcevolve.run.checks import checked
from pcevolve.run.execution import execute
from pcevolve.run.settings import RunSettings

BIN = Path(sys.executable).parent
READY_SECONDS = 600


def main() -> None:
    """Read the options and go through all sets, seeds and methods."""
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    judges = [Judge(name, options.work) for name in ONNX]
    rows: list[dict[str, object]] = []
    with _Served(options.library, options.work) as address:
        for seed in range(options.seeds):
            for private in options.private:
                for names in options.names:
                    rows += _seed(options, judges, private, seed, names, address)
                    _write(options.out, options, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument(
        "--private", type=Path, nargs="+", required=True, help="folders named after their domain"
    )
    parser.add_argument("--work", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--out", type=Path, required=True, help="result, without suffix")
    parser.add_argument("--methods", nargs="+", default=["auto", "random", "t2i"])
    parser.add_argument("--names", nargs="+", default=["own", "neutral"], choices=["own", "neutral"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shots", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--epsilon", default="10")
    parser.add_argument("--encoder", default="bundled")
    return parser.parse_args()


class _Served:
    """An API server on the library, as long as it is wanted."""

    def __init__(self, library: Path, work: Path) -> None:
        self._library, self._work = library, work

    def __enter__(self) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command: list[str | Path] = [
            BIN / "pcevolve-server",
            "serve",
            "--model",
            f"library:{self._library}",
            "--port",
            str(port),
        ]
        command += ["--library-cache", self._work / "cache", "--threads", "1"]
        with (self._work / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stderr=log)
        address = f"http://127.0.0.1:{port}"
        for _ in range(10 * READY_SECONDS):
            try:
                urllib.request.urlopen(f"{address}/readyz", timeout=5)
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return address
        raise SystemExit("the server does not get ready")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def _images(folder: Path) -> dict[str, list[Path]]:
    found = {path.name: sorted(path.iterdir()) for path in sorted(folder.iterdir()) if path.is_dir()}
    return {
        label: [path for path in paths if path.suffix in {".png", ".jpg"}] for label, paths in found.items()
    }


def _seed(
    options: argparse.Namespace, judges: list[Judge], private: Path, seed: int, names: str, address: str
) -> list[dict[str, object]]:
    """Every method's release with one choice of shots."""
    random = np.random.default_rng([seed, 2026])
    shots, test = {}, {}
    for number, (name, paths) in enumerate(_images(private).items(), 1):
        label = name if names == "own" else f"type {number}"
        order = random.permutation(len(paths))
        shots[label] = [paths[place] for place in order[: options.shots]]
        test[label] = [paths[place] for place in order[options.shots :]]
    place = options.work / private.name / names / f"seed{seed}"
    _copied(shots, place / "shots")
    facts = {"set": private.name, "names": names, "seed": seed}
    rows = [facts | _row("shots (not private)", judges, shots, test)]
    for method in options.methods:
        seconds = _ran(options, method, place, private.name, seed, address)
        row = _row(method, judges, _images(place / method / "release"), test)
        rows.append(facts | row | {"seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def _copied(shots: dict[str, list[Path]], folder: Path) -> None:
    for label, paths in shots.items():
        (folder / label).mkdir(parents=True, exist_ok=True)
        for path in paths:
            shutil.copy(path, folder / label)


def _ran(
    options: argparse.Namespace, method: str, place: Path, domain: str, seed: int, address: str
) -> float | None:
    """Run, unless that was done before; return the seconds of the run."""
    run, ledger = place / method, place / f"{method}.ledger"
    if (run / "release" / "manifest.json").exists():
        return None
    shutil.rmtree(run, ignore_errors=True)
    ledger.unlink(missing_ok=True)
    settings = RunSettings.of({
        "api": address, "model": f"library:{options.library.name}", "private": str(place / "shots"), "domain": domain,
        "method": method, "out": run, "epsilon": options.epsilon, "shots": options.shots, "seed": seed,
        "candidates": options.candidates, "encoder": options.encoder, "pad_selection": 0, "ledger": ledger,
        "yes": True,
    })  # fmt: skip
    started = time.monotonic()
    execute(checked(settings, resume=False))
    seconds = time.monotonic() - started
    if seed == 0 and (faults := [fault for finding in audit(run) for fault in finding.faults]):
        raise SystemExit(f"{run} does not pass the audit: {faults}")
    return round(seconds, 1)


def _row(
    method: str,
    judges: list[Judge],
    train: dict[str, list[Path]],
    test: dict[str, list[Path]],
) -> dict[str, object]:
    paths = [path for group in train.values() for path in group]
    distinct = len({path.read_bytes() for path in paths})
    accuracy = {judge.name: round(judge.accuracy(train, test), 2) for judge in judges}
    return {"method": method, "images": len(paths), "distinct": distinct, "voted": False, **accuracy}


def _write(out: Path, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """The figures of every run as JSON, and their means as a table."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [
        "# A library of public images as a provider\n",
        f"Written by `benchmarks/library`: {options.shots} shots per class, epsilon = {options.epsilon}, "
        f"{options.candidates} images per class, voter `{options.encoder}`. Accuracy of linear heads on encoders "
        "that did not vote, %, mean ± standard error over seeds; *distinct*: share of images that are no copies.\n",
        "| set | class names | method | seeds | MobileNetV2 | SqueezeNet | distinct |",
        "|---|---|---|---|---|---|---|",
    ]
    groups = defaultdict(list)
    for row in rows:
        groups[row["set"], row["names"], row["method"]].append(row)
    for (domain, names, method), group in groups.items():
        figures = " | ".join(_mean([row[name] for row in group]) for name in ONNX)
        distinct = np.mean([row["distinct"] / row["images"] for row in group])
        lines.append(f"| {domain} | {names} | {method} | {len(group)} | {figures} | {distinct:.0%} |")
    out.with_suffix(".md").write_text("\n".join(lines) + "\n")


def _mean(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.1f} ± {error:.1f}"


if __name__ == "__main__":
    main()
