"""The runner's process, from its orders to the summary; the orders contain nothing private."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from rich.console import Console

from pcevolve.errors import ClientError, StoppedError
from pcevolve.public import protocol
from pcevolve.public.config.options import at_door
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.decoder import decode_in_time
from pcevolve.public.media.images.decoding import RecentImages, decoding_by
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import GoneError, Pipe
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience, Progress, error_console, tell_nobody
from pcevolve.wire.asking import RemoteKeeper
from pcevolve.wire.execution import carry_out, look
from pcevolve.wire.following import follow, preview_following
from pcevolve.wire.reaching import RunnerJob

_MOST_KEPT: Final = 2**24
"""Largest number of bytes of decoded images that are kept."""


@dataclass(frozen=True)
class _Owner:
    """The owner, reached through the process that started this one."""

    pipe: Pipe
    there: bool

    def is_there(self) -> bool:
        """True if a person can answer."""
        return self.there

    def agrees(self, question: str) -> bool:
        """Have the parent process ask the question."""
        self.pipe.send("ask", json.dumps({"question": question}))
        return bool(json.loads(self.pipe.receive()[1]))

    def tell(self, progress: Progress) -> None:
        """Forward progress to the parent process."""
        self.pipe.send("progress", json.dumps(asdict(progress)))


def _announce(up: Pipe) -> None:
    """Report that the owner agreed to the run, and wait until the run's options are stored.

    The runner reports this itself, because a run that starts from a release has no keeper.
    """
    up.send("agreed")
    up.receive()


def run(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe, across: Pipe) -> None:
    keeper = RemoteKeeper(across, partial(up.send, "begun"))

    def go(job: RunnerJob, audience: Audience) -> dict[str, Any]:
        try:
            if orders["only_look"]:
                look(job, keeper, audience)
                return {}
            return carry_out(job, keeper, audience)[2]
        finally:
            # After an error too, because the keeper waits for this message.
            keeper.close(protocol.Close())

    with at_door() if orders["at_door"] else nullcontext():
        work(go, orders, up)


def vary(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe, _across: Pipe) -> None:
    """Run as the runner of a run that starts from a release, which has no keeper."""

    def go(job: RunnerJob, audience: Audience) -> dict[str, Any]:
        if orders["only_look"]:
            preview_following(job, audience, partial(_announce, up))
            return {}
        return follow(job, audience, partial(_announce, up))

    work(go, orders, up)


def work(go: Callable[[RunnerJob, Audience], dict[str, Any]], orders: Mapping[str, Any], up: Pipe) -> None:
    """Do a runner's work, and report how it ended."""
    settings = PublicConfig.model_validate(orders["settings"])
    job = RunnerJob(settings, RunFolder(settings.output.folder), orders["key"])
    report(lambda audience: go(job, audience), orders, up)


def report(go: Callable[[Audience], dict[str, Any]], orders: Mapping[str, Any], up: Pipe) -> None:
    """Do the work of a process with the network, and report how it ended."""
    console = Console(quiet=True) if orders["quiet"] else error_console()
    owner = _Owner(up, orders["is_there"])
    audience = Audience(
        console, owner.tell if orders["shows_progress"] else tell_nobody, orders["verbose"], owner
    )
    try:
        try:
            with decoding_by(RecentImages(decode_in_time, _MOST_KEPT).decode):
                summary = go(audience)
            up.send("done", json.dumps({"summary": summary}))
        except ClientError as error:
            lines = error.lines if isinstance(error, StoppedError) else (str(error),)
            failure = {"kind": type(error).__name__, "lines": lines, "is_reported": error.is_reported}
            up.send("failed", json.dumps(failure))
        except OSError as error:  # such as a full disk, or a folder without write permission
            up.send(
                "failed", json.dumps({"kind": "ClientError", "lines": [str(error)], "is_reported": False})
            )
    except GoneError:  # the parent process is gone, so nobody can be informed
        return
