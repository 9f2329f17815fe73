"""Starts the client's command line as a process of its own, and follows it: its memory, its time, and whom it dials."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.forkserver import ForkServer, Started, environment_of_tests
from support.together import bring_together

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


@dataclass(frozen=True)
class Launcher:
    """Starts clients that are watched: forks of a process that has imported the client."""

    folder: Path
    forks: ForkServer

    def __call__(self, arguments: Sequence[object], seconds: float) -> Ended:
        """Run ``pcevolve`` with these arguments, for so long at most."""
        started = time.monotonic()
        dialled = self.folder / "dialled"
        process = self.forks.start(
            arguments,
            environment(self.folder),
            outputs=(self.folder / "stdout", self.folder / "stderr"),
            first=("hostile.launcher:confine", str(dialled)),
        )
        code, peak = _follow(process, started + seconds)
        seen = frozenset(dialled.read_text().splitlines())
        return _make_ended(self.folder, code, peak, time.monotonic() - started, seen)


def confine(dialled: str) -> None:
    """Limit the memory of this process, and note every address that it dials, before its command begins.

    All of a run happens in it, as that of a demonstration does: what another process dials or holds is not seen here.
    """
    bring_together()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))
    notes = Path(dialled).open("w", buffering=1)  # noqa: SIM115 - open as long as the process lives

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            print(f"{given[1][0]}:{given[1][1]}", file=notes)
        elif event == "socket.getaddrinfo":
            print(f"{given[0]}:{given[1]}", file=notes)

    sys.addaudithook(note)


def start_command(arguments: Sequence[object], seconds: float, folder: Path) -> Ended:
    """The installed command as a user starts it; takes seconds longer."""
    command = [str(Path(sys.executable).parent / "pcevolve"), *map(str, arguments)]
    started = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, env=environment(folder), stdout=out, stderr=err)
    code, peak = _follow(process, started + seconds)
    return _make_ended(folder, code, peak, time.monotonic() - started, None)


def environment(folder: Path) -> dict[str, str]:
    """The tests' environment with a state folder of its own."""
    return {**environment_of_tests(), "XDG_STATE_HOME": str(folder / "state")}


def _make_ended(folder: Path, code: int, peak: int, seconds: float, dialled: frozenset[str] | None) -> Ended:
    out, err = (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()
    return Ended(code, peak, seconds, out, err, dialled)


def _follow(process: subprocess.Popen[bytes] | Started, deadline: float) -> tuple[int, int]:
    """Wait for a process, kill it at the deadline; its code and its peak of memory."""
    hung, peak = False, 0
    while (code := process.poll()) is None:
        peak = max(peak, _peak(process.pid))
        if not hung and time.monotonic() > deadline:
            hung = True
            process.kill()
        time.sleep(POLL_SECONDS)
    return HUNG if hung else code, peak


def _peak(pid: int) -> int:
    """Bytes. The kernel's ``ru_maxrss`` will not do: it counts what a process was before its exec: a fork of us."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
