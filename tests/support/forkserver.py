"""Client and server processes in milliseconds: forks of processes that have done the imports, one for each command.

What runs is a process of its own: it has a process id, its own memory, environment, working directory and outputs, is
killed by ``kill -9`` and ends with an exit code. It differs from a fresh start in four things: all modules are
imported already, hash randomisation is the fork server's, standard output is a file, and the processes of its run are
forks as well (``support.forked``). Whatever depends on one of them starts the installed command instead.

One pair of fork servers is enough for all workers of a session: the process that owns it hands its folder on.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.forking import CLIENT, COMMANDS, Command, Job

TESTS = Path(__file__).parents[1]


class Started:
    """A process that a fork server has started, with the methods of ``subprocess.Popen`` that tests need.

    The process is killed when nothing refers to this object any more.
    """

    def __init__(self, connection: socket.socket, job: Job) -> None:
        self.args = list(job.arguments)
        self.returncode: int | None = None
        self._outputs = [Path(each) for each in job.outputs]
        self._connection, self._told = connection, connection.makefile("r")
        self._waiting = select.poll()
        self._waiting.register(connection, select.POLLIN)
        self.pid = self._answer()

    def _answer(self) -> int:
        line = self._told.readline()
        assert line, "the fork server has ended: why, is among the errors that were printed"
        return int(line)

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended the process; None while it runs."""
        with suppress(TimeoutError):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process.

        Raises:
            TimeoutError: It still runs after so many seconds.
        """
        if self.returncode is None:
            if not self._waiting.poll(None if timeout is None else 1000 * timeout):
                raise TimeoutError(f"{self.args} still runs after {timeout} s")
            self.returncode = self._answer()
            self._told.close()
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the process, and return what it printed and what it told."""
        self.wait(timeout)
        printed, told = (each.read_text() for each in self._outputs)
        return printed, told

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process as ``kill -9`` does."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


class ForkServers:
    """The fork servers of all commands; they and all that they started end with the process that holds this.

    Attributes:
        folder: What ``ForkServer`` needs to know, in this process or in another.
    """

    def __init__(self) -> None:
        self._held = TemporaryDirectory(prefix="forkserver-")
        self.folder = self._held.name
        self._processes = [self._start(name) for name in COMMANDS]

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        environment = environment_of_tests()
        path = os.pathsep.join([str(TESTS), *filter(None, [environment.get("PYTHONPATH")])])
        # Not ``-m``: the command would call itself by the module's name.
        code = "import sys; from support import forking; forking.serve(*sys.argv[1:])"
        process = subprocess.Popen(
            [sys.executable, "-c", code, name, str(_address(self.folder, name))],
            env={**environment, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def close(self) -> None:
        """End them; they do so by themselves when this process ends, in whatever way."""
        for each in self._processes:
            each.communicate()
        self._held.cleanup()


class ForkServer:
    """The fork servers, as seen from tests."""

    def __init__(self, folder: str) -> None:
        """Use the fork servers of this folder; see ``ForkServers``."""
        self._folder = folder
        self._outputs = TemporaryDirectory(prefix="forks-")
        self._count = 0

    def start(
        self,
        arguments: Sequence[object],
        environment: Mapping[str, str],
        outputs: tuple[Path, Path] | None = None,
        folder: Path | None = None,
        first: tuple[str, Any] | tuple[()] = (),
        command: Command = CLIENT,
        append: bool = False,
    ) -> Started:
        """Start a command with these arguments; see ``Job``. Its outputs are emptied first, or appended to."""
        self._count += 1
        own = [Path(self._outputs.name) / f"{self._count}-{name}" for name in ("stdout", "stderr")]
        job = Job(
            [str(each) for each in arguments],
            dict(environment),
            str(folder or Path.cwd()),
            tuple(str(each) for each in outputs or own),
            first,
        )
        for each in job.outputs:
            Path(each).open("ab" if append else "wb").close()  # they are there before the process is
        order = json.dumps(asdict(job)).encode() + b"\n"  # the fork server waits for a whole line
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(_address(self._folder, command.name)))
        connection.sendall(order)
        return Started(connection, job)

    def run(
        self, arguments: Sequence[object], environment: Mapping[str, str], timeout: float, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Start a process and wait for its end.

        Raises:
            TimeoutError: It had to be killed.
        """
        process = self.start(arguments, environment, **options)
        try:
            printed, told = process.communicate(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.wait(), printed, told)

    def close(self) -> None:
        """Remove the outputs."""
        self._outputs.cleanup()


def _address(folder: str, name: str) -> Path:
    return Path(folder) / name


def environment_of_tests() -> dict[str, str]:
    """This process's environment without settings of the client, and with wide tables."""
    hidden = {key: value for key, value in os.environ.items() if not key.startswith("PCEVOLVE")}
    return {**hidden, "COLUMNS": "200"}
