"""A client process that has done its imports, and forks itself for each command: the imports take seconds."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

LAZY = (
    "audit",
    "cli.audit",
    "cli.main",
    "cli.run",
    "encoders.bundled",
    "encoders.loading",
    "pages.report",
    "run.execution",
    "run.scoring",
)
"""What the command line imports only when it is needed."""


def serve() -> None:
    """One job a line on stdin, one exit code a line on stdout."""
    for module in LAZY:
        importlib.import_module(f"pcevolve.{module}")
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(_code(json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _code(job: dict[str, Any]) -> int:
    os.environ.update(job["environment"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        descriptor = os.open(Path(job["folder"]) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
    try:
        _command(job)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except BaseException:  # noqa: BLE001 - what the interpreter would do
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _command(job: dict[str, Any]) -> None:
    from leaks import loops
    from pcevolve.cli.main import main
    from pcevolve.run import execution as run

    if job["loop"]:
        run.evolve = loops.LOOPS[job["loop"]]
    main(job["arguments"])


if __name__ == "__main__":
    serve()
