"""A process that imports a command once, on the first order, and then forks itself for each order.

Run as a process of its own by ``support.forkserver``. It has one thread: a process with threads cannot be forked.
On each connection comes one order; the answers are a process id and later an exit code. A process ends with the
connection on which it was ordered, and all of them end when the fork server's standard input is closed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from support.forked import fork_children, leave_after


@dataclass(frozen=True)
class Command:
    """An installed command.

    Attributes:
        name: What the process calls itself.
        module: Whose ``main`` it is.
        imported: What the command imports in the end, most of it only when it needs it. Nothing that reads the
            environment or the home folder meanwhile, as ``huggingface_hub.constants`` does: those are each process's.
        prepared: Functions without arguments, as ``module:name``, that keep what is the same in every process.
    """

    name: str
    module: str
    imported: tuple[str, ...]
    prepared: tuple[str, ...] = ()


CLIENT = Command(
    "pcevolve",
    "pcevolve.app.cli.main",
    (
        "pcevolve.app.cli.audit",
        "pcevolve.app.cli.budget",
        "pcevolve.app.cli.commands",
        "pcevolve.app.cli.run",
        "pcevolve.app.cli.summary",
        "pcevolve.app.interface",
        "pcevolve.app.session.judge",
        "pcevolve.app.session.preflight",
        "pcevolve.app.session.staff",
        "pcevolve.auditing",
        "pcevolve.keeper.continuity",
        "pcevolve.keeper.finished.outcome",
        "pcevolve.keeper.images",
        "pcevolve.keeper.keeping",
        "pcevolve.keeper.ledger.history",
        "pcevolve.keeper.private.spelling",
        "pcevolve.keeper.texts",
        "pcevolve.public.encoders.bundled",
        "pcevolve.public.encoders.loading",
        "pcevolve.public.encoders.words",
        "pcevolve.public.media.images.medium",
        "pcevolve.public.pages.report.page",
        "pcevolve.public.pages.wire.page",
        "pcevolve.public.processes.child",
        "pcevolve.public.selectors.consistency",
        "pcevolve.public.selectors.contrastive",
        "pcevolve.public.selectors.votes",
        "pcevolve.wire.execution",
        "pcevolve.wire.providers.a1111",
        "pcevolve.wire.providers.chat",
        "pcevolve.wire.providers.getimg",
        "pcevolve.wire.running",
        # what our own parts, httpx, numpy, rich and Pillow import on their first use
        "encodings.idna",
        "encodings.utf_8_sig",
        "httpcore",
        "numpy.ma",
        "opendp.measurements",
        "opendp.metrics",
        "PIL.BmpImagePlugin",
        "PIL.GifImagePlugin",
        "PIL.PpmImagePlugin",
        "rich._emoji_codes",
        "rich.status",
    ),
    (
        "pcevolve.wire.egress.http_transport:authorities",
        "support.forking:build_models",
        "support.forking:compile_templates",
    ),
)
API_SERVER = Command(
    "pcevolve-server",
    "pcevolve_server.cli",
    (
        "diffusers.pipelines.auto_pipeline",  # with all pipelines, of which it is the list
        "pcevolve_server.diffusion.generator_loading",
        "pcevolve_server.library.loading",
        "pcevolve_server.logs",
        "pcevolve_server.server",
        "uvicorn.loops.asyncio",
    ),
)
BENCHMARKS = Command(
    "pcevolve-bench",
    "pcevolve_benchmarks.cli.main",
    ("pcevolve.wire.execution", "pcevolve.public.encoders.loading"),
)
COMMANDS = {each.name: each for each in (CLIENT, API_SERVER, BENCHMARKS)}


@dataclass(frozen=True)
class Job:
    """One order.

    Attributes:
        arguments: After the name of the command.
        environment: All of it.
        folder: Where the process works.
        outputs: The files to which standard output and standard error are appended.
        first: A function to call before the command, as ``module:name``, and its argument; none if empty.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    outputs: tuple[str, str]
    first: tuple[str, Any] | tuple[()] = ()


class _Server:
    """Waits for orders, for the end of children, and for the end of those who ordered them."""

    def __init__(self, command: Command, address: str) -> None:
        self._command = command
        self._orders = socket.socket(socket.AF_UNIX)
        self._orders.bind(address)
        self._orders.listen(64)
        self._ended, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._running: dict[int, socket.socket] = {}
        self._waiting = selectors.DefaultSelector()
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends pytest, which ends this process

    def serve(self) -> None:
        """Start a process for each order, until standard input is closed."""
        for each, act in ((sys.stdin, None), (self._orders, self._accept), (self._ended, self._reap)):
            self._waiting.register(each, selectors.EVENT_READ, act)
        print("ready", flush=True)
        while True:
            acts = [key.data for key, _ in self._waiting.select()]
            if None in acts:
                break
            for act in acts:
                act()
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)

    def _accept(self) -> None:
        connection, _ = self._orders.accept()
        with connection.makefile("r") as told:
            line = told.readline()
        if not line:  # whoever wanted to order has ended
            connection.close()
            return
        self._import()
        pid = os.fork()
        if pid == 0:
            self._forget(connection)
            leave_after(lambda: _become(self._command, Job(**json.loads(line))))
        self._running[pid] = connection
        self._waiting.register(connection, selectors.EVENT_READ, lambda: self._abandon(pid))
        with suppress(BrokenPipeError):
            connection.sendall(f"{pid}\n".encode())

    def _import(self) -> None:
        """On the first order: most runs of few tests need one of the two commands, or none."""
        if self._command.module in sys.modules:
            return
        for module in (*self._command.imported, self._command.module):
            importlib.import_module(module)
        for name in self._command.prepared:
            _function(name)()
        gc.collect()
        gc.freeze()  # forks shall not copy what they only count
        tasks = Path("/proc/self/task")
        assert threading.active_count() == 1, "the imports started a thread"
        assert not tasks.exists() or len(list(tasks.iterdir())) == 1, "a library started a thread"

    def _forget(self, connection: socket.socket) -> None:
        """Close and drop what the child has no business with."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for each in (connection, self._orders, self._ended, self._wake, *self._running.values()):
            each.close()
        self._waiting.close()

    def _abandon(self, pid: int) -> None:
        """Nobody waits for the process any more: whoever ordered it has ended, or has forgotten it."""
        if pid in self._running:
            self._waiting.unregister(self._running[pid])
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        self._ended.recv(4096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                connection = self._running.pop(ended[0])
                with suppress(KeyError):
                    self._waiting.unregister(connection)
                with suppress(BrokenPipeError):
                    connection.sendall(f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
                connection.close()


def _become(command: Command, job: Job) -> None:
    _prepare(command, job)
    importlib.import_module(command.module).main()


def _prepare(command: Command, job: Job) -> None:
    os.environ.clear()
    os.environ.update(job.environment)
    os.chdir(job.folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, path in zip((1, 2), job.outputs, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
    sys.argv = [command.name, *job.arguments]
    if command is CLIENT and Path("/proc/self/task").exists():
        fork_children()
    if job.first:
        _function(job.first[0])(job.first[1])


def build_models() -> None:
    """Build what pydantic would build on first use, in every process anew."""
    known = [BaseModel]
    for each in known:
        known += each.__subclasses__()
        if each.__module__.startswith("pcevolve") and not each.__pydantic_complete__:
            each.model_rebuild()


def compile_templates() -> None:
    """Compile what a run would compile in each of its processes anew: a tenth of its processor time."""
    from pcevolve.public.pages import live
    from pcevolve.public.pages.report import page as report
    from pcevolve.public.pages.wire import page as wire

    for kind in ("image", "text"):
        for page in (live, report, wire):
            page.compile_template(kind)


def _function(name: str) -> Callable[..., object]:
    """The function that is called ``module:name``."""
    module, _, within = name.partition(":")
    found: Callable[..., object] = getattr(importlib.import_module(module), within)
    return found


def serve(name: str, address: str) -> None:
    """Be the fork server of a command at the address of a Unix socket, until standard input is closed."""
    _Server(COMMANDS[name], address).serve()
    with suppress(OSError):  # all of it is the owner's to remove, unless he was killed
        Path(address).unlink()
        Path(address).parent.rmdir()
    os._exit(0)  # libraries that are told of the end complain at length
