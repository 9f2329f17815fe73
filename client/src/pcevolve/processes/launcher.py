"""Start the processes of a run: a keeper of private files without network, a runner with network without private files.

The standard library alone: they are started by the first line of a command, before anything is imported, and wait for
their orders. Whoever starts them keeps the terminal. If it ends, however it ends, so do they.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcevolve.processes.pipe import GoneError, Pipe, open_conversation

GRACE_SECONDS = 10.0
"""From Ctrl-C to the end of a process that does not end by itself."""


@dataclass(frozen=True)
class Child:
    """A process that waits for its orders, or has got them."""

    process: subprocess.Popen[bytes]
    pipe: Pipe

    def order(self, work: str, reads: Sequence[str], writes: Sequence[str], **orders: Any) -> None:  # noqa: ANN401 - JSON
        """Say which files it may reach, what its work is (``module:function``), and what else that has to know."""
        told = {"work": work, "reads": [*reads], "writes": [*writes], "orders": orders}
        self.pipe.send("order", json.dumps(told))

    def end(self, *, kill: bool = False) -> int:
        """Wait for its end, or bring it about; its exit code, negative for a signal that ended it."""
        if self.process.returncode is not None:
            return self.process.returncode
        self.pipe.close()
        if kill:
            self.process.kill()
        try:
            return self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@dataclass(frozen=True)
class Children:
    """The processes of one run.

    Attributes:
        judge: For private files as well: measures what the run made, when it is over.
    """

    keeper: Child
    runner: Child
    judge: Child

    @property
    def pids(self) -> tuple[int, ...]:
        """Their numbers."""
        return tuple(each.process.pid for each in (self.runner, self.keeper, self.judge))

    def end(self, *, kill: bool = False) -> None:
        """Wait for the end of all, the runner's first, or bring it about."""
        for each in (self.runner, self.keeper, self.judge):
            each.end(kill=kill)


def start_children() -> Children:
    """Start all of them, and a conversation between keeper and runner; each waits for its orders."""
    own_keeper, keepers = open_conversation()
    own_runner, runners = open_conversation()
    own_judge, judges = open_conversation()
    keepers_door, runners_door = open_conversation()
    return Children(
        keeper=_start("keeper", Pipe(*own_keeper), keepers, keepers_door),
        runner=_start("runner", Pipe(*own_runner), runners, runners_door),
        judge=_start("judge", Pipe(*own_judge), judges),
    )


started: list[Children] = []
"""Those that a command's first line started, for the command to order."""


def _start(role: str, pipe: Pipe, *given: tuple[int, int]) -> Child:
    descriptors = [each for pair in given for each in pair]
    # -P: else the working directory, where anything may lie, is the first place to import from.
    command = [sys.executable, "-P", "-X", "utf8", "-m", "pcevolve.processes.child", role, str(os.getpid())]
    # What libraries print is no result, so it goes to stderr.
    process = subprocess.Popen(  # noqa: S603 - this program
        [*command, *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=2,
        pass_fds=descriptors,
        process_group=0,  # Ctrl-C comes to the process at the terminal alone, which passes it on
    )
    for each in descriptors:
        os.close(each)
    return Child(process, pipe)


def read_order(pipe: Pipe) -> Mapping[str, Any] | None:
    """Wait for an order; None where there will be none: whoever started this process had nothing to do."""
    try:
        _, body = pipe.receive()
    except GoneError:
        return None
    found: Mapping[str, Any] = json.loads(body)
    return found
