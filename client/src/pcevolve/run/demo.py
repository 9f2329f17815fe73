"""The demonstration: the whole job on one machine, the API server as a process of its own.

The private data are scikit-learn's handwritten 3s and 8s under labels that the provider does not understand,
so its prompts alone do badly, as in medicine and industry. They are public data, which is why this run's figures
about them may be shown.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pcevolve.errors import UsageError
from pcevolve.evaluation.accuracy import AccuracyTest
from pcevolve.pages.report import AccuracyPoint, write_report
from pcevolve.private.dataset import PrivateDataset
from pcevolve.run.execution import Outcome, execute
from pcevolve.run.folder import RunFolder
from pcevolve.run.progress import error_console
from pcevolve.run.scoring import Scores, record
from pcevolve.run.settings import RunSettings

SERVER = "pcevolve-server"
STOP_SECONDS = 10.0
OPTIONS: dict[str, Any] = {
    "private": "digits:3=type A,8=type B",
    "domain": "handwritten mark",
    "epsilon": "10",
    "shots": 10,
    "candidates": 60,
    "iterations": 1,  # to show the whole way, back to the provider and from it; selection alone does as well
    "steps": 10,
    "guidance": 3.5,
    "batch": 30,
    "seed": 2026,
    "first_contact": 120.0,
}


def demonstrate(out: Path) -> dict[str, Any]:
    """Run the default method and its controls against a local server and compare what they are worth.

    A demonstration that was cut off is continued.

    Raises:
        ClientError: Why it ended.
    """
    started = time.monotonic()
    console = error_console()
    done = _shown_before(out)
    if done is not None:
        console.print(
            f"{out} holds a finished demonstration: here it is again; remove the folder to run it anew"
        )
        return done
    with _server(out, _port(out)) as address:
        console.print(f"API server at {address}, a process of its own; it logs to {_log(out)}")
        main = execute(_settings(out, out, address, "auto"), resume=True)
        console.print("\nThe same once more without looking at the private data, for comparison:")
        control = execute(_settings(out, _beside(out, "random"), address, "random"), resume=True)
    console.print("Measuring both on held-out real digits ...")
    test = AccuracyTest.on(_public_test(main), main.parts.encoder)
    scores, blind = Scores.of(main, test, every=True), Scores.of(control, test, every=True)
    points = [*_points(main.plan.method, scores), *_points("random control", blind)]
    page = write_report(out, points, main.folder.private_report)
    accuracy = scores.as_json() | {"random": blind.as_json()["final"]}
    told = {"wall_seconds": round(time.monotonic() - started, 1), "report": str(page)}
    return record(replace(main, summary=main.summary | told), accuracy)


def _settings(root: Path, out: Path, address: str, method: str) -> RunSettings:
    ledger = RunFolder(root).private / "ledger.sqlite"
    return RunSettings.of(OPTIONS | {"out": out, "api": address, "method": method, "ledger": ledger})


def _public_test(outcome: Outcome) -> PrivateDataset:
    if outcome.parts.test is None or not outcome.parts.test_is_public:
        raise UsageError("the demonstration shows figures about its test data, so these must be public")
    return outcome.parts.test


def _points(name: str, scores: Scores) -> list[AccuracyPoint]:
    return [AccuracyPoint(name, t, each.mean, each.sem) for t, each in enumerate(scores.by_iteration)]


def _shown_before(out: Path) -> dict[str, Any] | None:
    """The summary of a demonstration that ran to its end, measurements included."""
    path = RunFolder(out).result
    summary: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return summary if "accuracy" in summary else None


def _port(out: Path) -> int:
    """The port of a demonstration that was cut off, because its plan names it; else any free one."""
    config = RunFolder(out).config
    stored = urlsplit(RunSettings.load(config).api).port if config.exists() else None
    if stored is not None:
        return stored
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _log(out: Path) -> Path:
    return _beside(out, "server.log")


def _beside(out: Path, name: str) -> Path:
    """Something of the demonstration that is no part of its main run."""
    return out.with_name(f"{out.name}-{name}")


@contextmanager
def _server(out: Path, port: int) -> Iterator[str]:
    """Start the API server on loopback and stop it in the end."""
    command = shutil.which(SERVER, path=str(Path(sys.executable).parent)) or shutil.which(SERVER)
    if command is None:
        raise UsageError(
            f"{SERVER} is not installed here: the demonstration needs both distributions (make install)"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with _log(out).open("ab") as sink:
        arguments = [command, "serve", "--model", "bundled", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(arguments, stdout=sink, stderr=sink)  # noqa: S603 - our own command
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
