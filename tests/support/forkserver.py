"""Client processes in milliseconds: a process that has done the client's imports forks itself for each command.

What runs is a process of its own: it has a process id, its own memory, environment, working directory and outputs, is
killed by ``kill -9`` and ends with an exit code. It differs from a fresh start in three things: all modules are
imported already, hash randomisation is the server's, and standard output is a file. Whatever depends on one of them
starts the installed command instead.

The server has one connection for each process, on which it answers with a process id and then with an exit code.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

IMPORTED = (
    "pcevolve.audit",
    "pcevolve.cli.audit",
    "pcevolve.cli.budget",
    "pcevolve.cli.main",
    "pcevolve.cli.run",
    "pcevolve.encoders.bundled",
    "pcevolve.encoders.loading",
    "pcevolve.pages.report",
    "pcevolve.pages.wire",
    "pcevolve.run.execution",
    "pcevolve.run.scoring",
)
"""What most commands import, most of them only when they need it."""
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Job:
    """A command of the client.

    Attributes:
        arguments: After the name of the command.
        environment: All of it.
        folder: Where the process works.
        outputs: The files that become standard output and standard error.
        first: A function to call before the command, as ``module:name``, and its argument; none if empty.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    outputs: tuple[str, str]
    first: tuple[str, Any] | tuple[()] = ()


class Started:
    """A process of the client, with the methods of ``subprocess.Popen`` that tests need."""

    def __init__(self, connection: socket.socket, job: Job) -> None:
        self.args = list(job.arguments)
        self.returncode: int | None = None
        self._outputs = [Path(each) for each in job.outputs]
        self._connection, self._told = connection, connection.makefile("r")
        self._waiting = select.poll()
        self._waiting.register(connection, select.POLLIN)
        self.pid = int(self._told.readline())

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
            self.returncode = int(self._told.readline())
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


class ForkServer:
    """The server, as seen from a test."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="forkserver-")
        self._address = str(Path(self._folder.name) / "socket")
        self._count = 0
        environment = environment_of_tests()
        path = os.pathsep.join([str(TESTS), *filter(None, [environment.get("PYTHONPATH")])])
        # Not ``-m``: the command would call itself by the module's name.
        code = "import sys; from support import forkserver; forkserver.serve(sys.argv[1])"
        command = [sys.executable, "-c", code, self._address]
        self._process = subprocess.Popen(
            command, env={**environment, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def start(
        self,
        arguments: Sequence[object],
        environment: Mapping[str, str],
        outputs: tuple[Path, Path] | None = None,
        folder: Path | None = None,
        first: tuple[str, Any] | tuple[()] = (),
    ) -> Started:
        """Start ``pcevolve`` with these arguments; see ``Job``."""
        self._count += 1
        own = [Path(self._folder.name) / f"{self._count}-{name}" for name in ("stdout", "stderr")]
        job = Job(
            [str(each) for each in arguments],
            environment,
            str(folder or Path.cwd()),
            tuple(str(each) for each in outputs or own),
            first,
        )
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        connection.sendall(json.dumps(asdict(job)).encode() + b"\n")
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
        """End the server; it does so by itself when the tests end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


def environment_of_tests() -> dict[str, str]:
    """This process's environment without settings of the client, and with wide tables."""
    hidden = {key: value for key, value in os.environ.items() if not key.startswith("PCEVOLVE")}
    return {**hidden, "COLUMNS": "200"}


class _Server:
    """One thread that waits for orders and for the end of children: a process with threads cannot be forked."""

    def __init__(self, address: str) -> None:
        self._orders = socket.socket(socket.AF_UNIX)
        self._orders.bind(address)
        self._orders.listen()
        self._ended, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._running: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Start a process for each order, until standard input is closed."""
        with selectors.DefaultSelector() as waiting:
            for each in (sys.stdin, self._orders, self._ended):
                waiting.register(each, selectors.EVENT_READ)
            print("ready", flush=True)
            while True:
                ready = [key.fileobj for key, _ in waiting.select()]
                if sys.stdin in ready:
                    break
                if self._ended in ready:
                    self._ended.recv(4096)
                    self._reap()
                if self._orders in ready:
                    self._fork()
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)

    def _fork(self) -> None:
        connection, _ = self._orders.accept()
        with connection.makefile("r") as told:
            job = Job(**json.loads(told.readline()))
        pid = os.fork()
        if pid == 0:
            self._forget(connection)
            _become(job)
        self._running[pid] = connection
        connection.sendall(f"{pid}\n".encode())

    def _forget(self, connection: socket.socket) -> None:
        """What the child has no business with."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (connection, self._orders, self._ended, self._wake, *self._running.values()):
            each.close()

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                connection = self._running.pop(ended[0])
                with suppress(BrokenPipeError):
                    connection.sendall(f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
                connection.close()


def _become(job: Job) -> NoReturn:
    """The forked process: what the interpreter does around ``main``."""
    code = 1
    try:
        _prepare(job)
        code = _ended()
    except BaseException:  # noqa: BLE001 - as the interpreter does; nothing of the server may run here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _prepare(job: Job) -> None:
    os.environ.clear()
    os.environ.update(job.environment)
    os.chdir(job.folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in zip((1, 2), job.outputs, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    sys.argv = ["pcevolve", *job.arguments]
    if job.first:
        module, _, name = job.first[0].partition(":")
        getattr(importlib.import_module(module), name)(job.first[1])


def _ended() -> int:
    """The exit code of the command, when all its threads have ended."""
    from pcevolve.cli.main import main

    try:
        main()
    except SystemExit as leaving:
        return _code(leaving.code)
    finally:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    return 0


def _code(given: object) -> int:
    """What the interpreter makes of the argument of ``sys.exit``."""
    if given is None or isinstance(given, int):
        return int(given or 0)
    print(given, file=sys.stderr)
    return 1


def serve(address: str) -> None:
    """Be the server: import the client, and fork for each order until standard input is closed."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # forks shall not copy what they only count
    _Server(address).serve()
    os._exit(0)  # libraries that are told of the end complain at length
