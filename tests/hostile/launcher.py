"""Starts the client's command line as a process of its own, often: torch is imported once, then every start is a fork.

Run as a script it is the helper that forks: a JSON line in for each start, a JSON line back when the process ended.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

MOST_DATA = 4 * 2**30  # bytes; a client that wants more meets MemoryError, and the machine lives on
POLL_SECONDS = 0.005
HUNG = -1


@dataclass(frozen=True)
class Ended:
    """A process of the client that ended.

    Attributes:
        code: Its exit code; minus the signal that ended it; ``HUNG`` when it had to be stopped.
        peak: Most memory it ever held, in bytes.
        seconds: How long it took.
        stdout: What it printed.
        stderr: What it told.
        dialled: Where it opened sockets to, and the host names that it looked up; None where nobody listened.
    """

    code: int
    peak: int
    seconds: float
    stdout: bytes
    stderr: bytes
    dialled: frozenset[str] | None


class Launcher:
    """The helper, as seen from the test; ``with`` ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._helper = subprocess.Popen(
            [sys.executable, __file__],
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, arguments: Sequence[object], seconds: float) -> Ended:
        """Run ``pcevolve`` with these arguments, for so long at most."""
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        order = {"arguments": list(map(str, arguments)), "seconds": seconds, "folder": str(self._folder)}
        print(json.dumps(order), file=self._helper.stdin, flush=True)
        told = json.loads(self._helper.stdout.readline())
        dialled = frozenset((self._folder / "dialled").read_text().splitlines())
        return _ended(self._folder, told["code"], told["peak"], told["seconds"], dialled)

    def close(self) -> None:
        assert self._helper.stdin is not None
        self._helper.stdin.close()
        self._helper.wait()


def start_command(arguments: Sequence[object], seconds: float, folder: Path) -> Ended:
    """The installed command as a user starts it; takes seconds longer."""
    command = [str(Path(sys.executable).parent / "pcevolve"), *map(str, arguments)]
    started = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, env=environment(folder), stdout=out, stderr=err)
    code, peak = _followed(process.pid, started + seconds)
    process.returncode = code
    return _ended(folder, code, peak, time.monotonic() - started, None)


def environment(folder: Path) -> dict[str, str]:
    """The tests' environment without settings of the client and without threads that compete."""
    hidden = {key: value for key, value in os.environ.items() if not key.startswith("PCEVOLVE")}
    own = {"XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    return {**hidden, **own, "OMP_WAIT_POLICY": "PASSIVE"}


def _ended(folder: Path, code: int, peak: int, seconds: float, dialled: frozenset[str] | None) -> Ended:
    out, err = (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()
    return Ended(code, peak, seconds, out, err, dialled)


def _followed(pid: int, deadline: float) -> tuple[int, int]:
    """Wait for a process, stop it at the deadline; its code and its peak of memory."""
    hung, peak = False, 0
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return HUNG if hung else os.waitstatus_to_exitcode(status), peak
        peak = max(peak, _peak(pid))
        if not hung and time.monotonic() > deadline:
            hung = True
            os.kill(pid, 9)
        time.sleep(POLL_SECONDS)


def _peak(pid: int) -> int:
    """Bytes. The kernel's ``ru_maxrss`` will not do: it counts what a process was before its exec: a fork of us."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0  # it is ending


def _helper() -> None:
    """Import the client once, then fork for each order."""
    import pcevolve.audit
    import pcevolve.cli.run
    import pcevolve.encoders.loading
    import pcevolve.pages.report
    import pcevolve.run.execution
    import pcevolve.run.scoring  # noqa: F401 - so that no fork has to

    gc.freeze()  # forks shall not copy what they only count
    for line in sys.stdin:
        order = json.loads(line)
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _client(order["arguments"], Path(order["folder"]))
        code, peak = _followed(pid, started + order["seconds"])
        print(json.dumps({"code": code, "peak": peak, "seconds": time.monotonic() - started}), flush=True)


def _client(arguments: list[str], folder: Path) -> NoReturn:
    """The forked process: what the interpreter does around ``main``, and a note of every address it dials."""
    from pcevolve.cli.main import main

    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    dialled = (folder / "dialled").open("w", buffering=1)

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            print(f"{given[1][0]}:{given[1][1]}", file=dialled)
        elif event == "socket.getaddrinfo":
            print(f"{given[0]}:{given[1]}", file=dialled)

    sys.addaudithook(note)
    code = 0
    try:
        main(arguments)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except BaseException:  # noqa: BLE001 - the interpreter would print it and end, and so does this
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _helper()
