"""Stop a process of a run when it is about to send a certain message, so that a test kills whom it likes.

For forks alone, which have the change from their command (``Job.first``). A message is called by its sender's role, its
name, and what tells it from others of that name; an answer by what it answers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from support.forked import CHILD

TOLD = "message: "
OF_DECODER = ("decode", "picture", "none", "end")


def tell_messages(_: object) -> None:
    """Print every message that a process of this run sends."""
    _before_each(lambda called: os.write(2, f"{TOLD}{called}\n".encode()))


def stop_at(wanted: str) -> None:
    """Stop before a message is sent, for the first time."""
    _before_each(lambda called: called == wanted and os.kill(os.getpid(), signal.SIGSTOP))


def _before_each(act: Callable[[str], object]) -> None:
    from pcevolve.app.session import judge
    from pcevolve.public.processes.pipe import Pipe

    judge.measure_accuracy = lambda run, audience, summary: summary  # what it is worth is not asked here
    send, receive, heard = Pipe.send, Pipe.receive, [""]

    def send_noticed(self: Pipe, name: str, body: str = "{}") -> None:
        # Images are decoded for whatever comes next, or for what came before.
        which = "" if name in OF_DECODER else _tell_apart(body) or heard[0]
        act(f"{_find_role()} {name} {which}".rstrip())
        send(self, name, body)

    def receive_noticed(self: Pipe) -> tuple[str, str]:
        name, body = receive(self)
        if name not in OF_DECODER:  # who was asked meanwhile
            heard[0] = _tell_apart(body)
        return name, body

    Pipe.send, Pipe.receive = send_noticed, receive_noticed  # type: ignore[method-assign]


def _find_role() -> str:
    return sys.argv[1] if Path(sys.argv[0]).stem == CHILD.rpartition(".")[2] else "launcher"


def _tell_apart(body: str) -> str:
    said = json.loads(body)
    if not isinstance(said, dict):
        return ""
    if isinstance(question := said.get("question"), dict):  # to an owner of several
        return f"{question['iteration']}.{question['part']}"
    return str(said.get("iteration", said.get("slot", said.get("work", "")))).rpartition(":")[2]


def retry_soon(_: object) -> None:
    """Have an owner that misses its coordinator try again at once."""
    from pcevolve.wire.clinics import joining

    joining.AGAIN_SECONDS = 0.05  # type: ignore[misc]
