"""Start the processes of a run: a keeper of private files, a runner with the network, and a decoder with neither.

Only the standard library is used. A command's first line starts the processes before anything is imported, and they
wait for their orders. Their parent keeps the terminal. On the terminal, their output may use colours and redraw its own
line, but nothing else. They end when the parent ends, for whatever reason.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pcevolve.errors import blank_out
from pcevolve.public.processes.doorway import knock, open_pipe
from pcevolve.public.processes.pipe import Pipe, open_conversation

# Allowed are colours, erasing and redrawing one line, as progress bars do, and hiding and showing the cursor. No output
# may move to other lines, query the terminal, or set a title.
_ALLOWED = re.compile(r"(\x1b\[[0-9;]{0,20}m|\x1b\[2K|\x1b\[\?25[hl]|[\n\r])")
_BEGUN = re.compile(r"\x1b(\[[0-9;?]{0,20})?$")


class Words:
    """The output of a process, which arrives in pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def add(self, piece: bytes) -> str:
        """Return what may be printed so far. Invisible characters that are not allowed become blanks."""
        text = self._rest + self._decoder.decode(piece)
        begun = _BEGUN.search(text)
        self._rest = begun.group() if begun else ""
        parts = _ALLOWED.split(text[: len(text) - len(self._rest)])
        return "".join(part if place % 2 else blank_out(part) for place, part in enumerate(parts))

    def end(self) -> str:
        """Return the output that is still held back, after the output has ended."""
        return blank_out(self._rest + self._decoder.decode(b"", final=True))


GRACE_SECONDS = 10.0
"""Seconds from Ctrl-C until a process that does not end is killed."""


@dataclass(frozen=True)
class Child:
    """A process that waits for its orders, or has received them.

    Attributes:
        pipe: The connection by which it gets its orders.
        threads: Threads that forward its output.
        silence: Lock that stops the forwarding while it is held, so that no output overwrites a question to a person.
    """

    process: subprocess.Popen[bytes]
    pipe: Pipe
    threads: list[threading.Thread] = field(default_factory=list)
    silence: threading.Lock = field(default_factory=threading.Lock)

    def order(self, work: str, reads: Sequence[str], writes: Sequence[str], **orders: Any) -> None:  # noqa: ANN401 - JSON
        """Send an order: the files that the process may access, its work (``module:function``), and the arguments."""
        message = {"work": work, "reads": [*reads], "writes": [*writes], "orders": orders}
        self.pipe.send("order", json.dumps(message))

    def pass_on_words(self) -> None:
        """Forward the output of a runner. A runner has no terminal, because it may be compromised."""
        if self.process.stdout is not None and not self.threads:
            given = [self.process.stdout.fileno(), 2, self.silence]
            self.threads.append(threading.Thread(target=_pass_on, args=given, daemon=True))
            self.threads[-1].start()

    def end(self, *, kill: bool = False) -> int:
        """Wait for the process to end, or kill it. Return its exit code, which is negative for a signal."""
        if self.process.returncode is not None:
            return self.process.returncode
        self.pipe.close()
        if kill:
            self.process.kill()
        try:
            self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        code = self.process.wait()
        for each in self.threads:
            each.join(GRACE_SECONDS)
        return code


@dataclass(frozen=True)
class Children:
    """The processes of one run.

    Attributes:
        keeper: Has private files and no network.
        runner: Has the network and no private files.
        judge: Has private files. It evaluates the run's dataset at the end.
        decoder: Has neither files nor network. It decodes images for the keeper.
    """

    keeper: Child
    runner: Child
    judge: Child
    decoder: Child

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(each.process.pid for each in (self.runner, self.keeper, self.judge, self.decoder))

    def end(self, *, kill: bool = False) -> None:
        """Wait for all to end, the runner first, or kill them."""
        every = (self.runner, self.keeper, self.judge, self.decoder)
        for each in every:  # first, so that all tidy up at the same time
            each.pipe.close()
        for each in every:
            each.end(kill=kill)


def start_children() -> Children:
    """Start all processes, and a conversation between keeper and runner. Each process waits for its orders."""
    own_keeper, keepers = open_conversation()
    own_runner, runners = open_conversation()
    own_judge, judges = open_conversation()
    keepers_door, runners_door = open_conversation()
    own_decoder, decoders = open_conversation()
    asks, answers = open_conversation()
    return Children(
        keeper=_start("keeper", Pipe(*own_keeper), keepers, asks, keepers_door),
        runner=_start("runner", Pipe(*own_runner), runners, runners_door),
        judge=_start("judge", Pipe(*own_judge), judges),
        decoder=_start("decoder", Pipe(*own_decoder), decoders, answers),
    )


def start_worker() -> Child:
    """Start one process for work with files and without network. The process waits for its order."""
    own, workers = open_conversation()
    return _start("worker", Pipe(*own), workers)


@dataclass(frozen=True)
class KeepersSide:
    """The processes of ``pcevolve keeper``, whose client is another command."""

    keeper: Child
    judge: Child
    decoder: Child
    doors: tuple[int, ...] = ()

    @property
    def pids(self) -> tuple[int, ...]:
        return self.keeper.process.pid, self.judge.process.pid, self.decoder.process.pid


@dataclass(frozen=True)
class ClientsSide:
    """The process of ``pcevolve run --keeper``, and the conversation with the keeper.

    Attributes:
        runner: The process with the network.
        door: The conversation with the keeper.
        folder: Folder of the former socket file.
    """

    runner: Child
    door: Pipe
    folder: str

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.runner.process.pid,)

    @property
    def doors(self) -> tuple[int, ...]:
        """Descriptors of the conversation."""
        return tuple(self.door.descriptors)


def start_keepers_side() -> KeepersSide:
    """Start the processes with private files. Each process waits for its orders."""
    own_keeper, keepers = open_conversation()
    own_judge, judges = open_conversation()
    own_decoder, decoders = open_conversation()
    asks, answers = open_conversation()
    return KeepersSide(
        _start("keeper", Pipe(*own_keeper), keepers, asks),
        _start("judge", Pipe(*own_judge), judges),
        _start("decoder", Pipe(*own_decoder), decoders, answers),
    )


def start_clients_side(path: str) -> ClientsSide:
    """Wait for the keeper at a socket file, and start the process with the network (``DoorError`` without a keeper)."""
    door = open_pipe(knock(path))
    own, runners = open_conversation()
    reads, writes = map(os.dup, door.descriptors)
    folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - pathlib takes 10 ms to import
    return ClientsSide(_start("runner", Pipe(*own), runners, (reads, writes)), door, folder)


started: list[Children] = []
"""The processes that the command's first line started, until the command takes them."""
sides: list[KeepersSide | ClientsSide] = []
"""The processes that the first line of a command started, if the command is one side of a run."""
demands: list[bool] = []
"""True if a command that is one side of a run must be confined."""


def take_children() -> Children:
    """Return the processes that the command's first line started, or start new ones."""
    return started.pop() if started else start_children()


def _start(role: str, pipe: Pipe, *given: tuple[int, int]) -> Child:
    descriptors = [each for pair in given for each in pair]
    # Without -P Python would import first from the working directory, which may contain any file.
    command = [
        sys.executable,
        "-P",
        "-X",
        "utf8",
        "-m",
        "pcevolve.public.processes.child",
        role,
        str(os.getpid()),
    ]
    # Libraries' output is not a result, so it goes to stderr. A runner shares no terminal or file with processes
    # that hold private files, because it could read how much they print, and what. Neither does a decoder, which an
    # image from outside may have taken over: it could send commands to the terminal, and has no reason to print.
    is_runner, is_decoder = role == "runner", role == "decoder"
    process = subprocess.Popen(  # noqa: S603 - this program
        [*command, *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if is_runner else subprocess.DEVNULL if is_decoder else 2,
        stderr=subprocess.STDOUT if is_runner or is_decoder else None,
        env=_describe_terminal() if is_runner else None,
        pass_fds=descriptors,
        process_group=0,  # Ctrl-C comes to the process at the terminal alone, which passes it on
    )
    for each in descriptors:
        os.close(each)
    return Child(process, pipe)


def _describe_terminal() -> dict[str, str]:
    """Return an environment in which a process formats its output for the terminal, although it prints into a pipe."""
    if not os.isatty(2):
        return {**os.environ}
    return {**os.environ, "COLUMNS": str(os.get_terminal_size(2).columns), "FORCE_COLOR": "1"}


def _pass_on(source: int, target: int, silence: threading.Lock) -> None:
    words = Words()
    with suppress(OSError):  # nobody listens any more
        while piece := os.read(source, 2**16):
            with silence:
                _write(target, words.add(piece))
        _write(target, words.end())


def _write(target: int, text: str) -> None:
    """Write text and reset its colours, so that the next process's text is visible."""
    rest = (text + "\x1b[0m" if "\x1b[" in text else text).encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(target, rest) :]
