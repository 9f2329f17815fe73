"""The processes of a run as forks of their command, which has done the imports; for tests only.

``Forked`` stands for ``subprocess.Popen`` in ``processes.launcher``. What it starts is a process of its own with the
words, environment and descriptors that a new interpreter gets, and confines itself in its one thread as that does; only
the imports are done before, and its role is its name. Tests that start the installed command have real interpreters:
what ``system/test_apart.py`` and ``client/processes`` say of confinement, ``Client.as_installed``, ``boundary``,
``compose``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, NoReturn

CHILD = "pcevolve.public.processes.child"
POLL_SECONDS = 0.005


class Forked:
    """A fork of this process that becomes a process of its run, with the methods of ``Popen`` that a launcher needs."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int | None,
        env: Mapping[str, str] | None,
        pass_fds: Sequence[int],
        process_group: int,
    ) -> None:
        assert stdin == subprocess.DEVNULL
        assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process with threads cannot be forked"
        self.returncode: int | None = None
        self.stdout: IO[bytes] | None = None
        reads, writes = os.pipe() if stdout == subprocess.PIPE else (None, _open_output(stdout))
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, process_group)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writes, 1)
            if stderr == subprocess.STDOUT:
                os.dup2(writes, 2)
            _keep_descriptors({0, 1, 2, *pass_fds})
            leave_after(lambda: _be_child(command, os.environ if env is None else env))
        os.close(writes)
        if reads is not None:
            self.stdout = os.fdopen(reads, "rb")

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended the process; None while it runs."""
        if self.returncode is None and (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(ended[1])
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """Wait for the end of the process.

        Raises:
            TimeoutExpired: It still runs after so many seconds.
        """
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(CHILD, timeout)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process as ``kill -9`` does."""
        self.send_signal(signal.SIGKILL)


def _open_output(stdout: int) -> int:
    return os.open(os.devnull, os.O_WRONLY) if stdout == subprocess.DEVNULL else os.dup(stdout)


def fork_children() -> None:
    """Have this command fork the processes of its run instead of starting interpreters."""
    from pcevolve.public.processes import launcher

    names = ("DEVNULL", "PIPE", "STDOUT", "TimeoutExpired")
    likeness = SimpleNamespace(Popen=Forked, **{name: getattr(subprocess, name) for name in names})
    launcher.subprocess = likeness  # type: ignore[assignment]


def _keep_descriptors(kept: set[int]) -> None:
    """Close all others, as a program that is started does."""
    for each in [int(found.name) for found in Path("/proc/self/fd").iterdir()]:
        if each not in kept:
            with suppress(OSError):  # the one that listed them
                os.close(each)


def _be_child(command: Sequence[str], environment: Mapping[str, str]) -> None:
    from pcevolve.public.processes import child

    found = dict(environment)
    os.environ.clear()
    os.environ.update(found)
    tests = str(Path(__file__).parents[1])
    sys.path[:] = [
        each for each in sys.path if each not in ("", tests)
    ]  # -P, and no more to read than it has
    sys.argv = [child.__file__, *command[command.index(CHILD) + 1 :]]
    Path("/proc/self/comm").write_text(sys.argv[1])
    child.main()


def leave_after(work: Callable[[], object]) -> NoReturn:
    """What an interpreter does around a program: end with its code, when all its threads have ended."""
    code = 1
    try:
        code = _finish(work)
    except BaseException:  # noqa: BLE001 - as the interpreter does; nothing of who forked this process may run here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _finish(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as leaving:
        return _read_code(leaving.code)
    finally:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    return 0


def _read_code(given: object) -> int:
    """The interpreter's reading of the argument of ``sys.exit``."""
    if given is None or isinstance(given, int):
        return int(given or 0)
    print(given, file=sys.stderr)
    return 1
