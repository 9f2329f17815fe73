"""The messages of a run's processes: orders, reports, questions and answers."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from pcevolve.errors import ProtocolError, printable, rebuild_error
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import spells_keywords
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.dialects import find_abilities
from pcevolve.public.modality import MODALITIES
from pcevolve.public.processes.launcher import Child
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.run.progress import Audience, Progress, tell_nobody

KEEPER: Final = "pcevolve.keeper.keeping:keep"
RUNNER: Final = "pcevolve.wire.running:run"
FOLLOWER: Final = "pcevolve.wire.running:vary"
ADDER: Final = "pcevolve.keeper.clinics.keeping:add_up"
COORDINATOR: Final = "pcevolve.wire.clinics.coordinating:run"
DECODER: Final = "pcevolve.public.decoder:serve"
JUDGE: Final = "pcevolve.app.session.judge:judge"
ACCURACY: Final = "pcevolve.app.session.judge:measure_accuracy"


@dataclass(frozen=True)
class DoorAddress:
    """The address where several owners connect to a coordinator.

    Attributes:
        certificate: File of the TLS certificate, and file of its key if that is separate.
    """

    host: str
    port: int
    certificate: tuple[Path | None, Path | None] = (None, None)

    def orders(self) -> dict[str, object]:
        """Return the address in the form that the process with the network needs."""
        files = [None if each is None else str(each.absolute()) for each in self.certificate]
        return {"listen": [self.host, self.port], "certificate": files}


def order(
    child: Child,
    work: str,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    **orders: Any,  # noqa: ANN401 - JSON
) -> None:
    """Send orders to a process; ``ProtocolError`` if it has ended."""
    try:
        child.order(work, reads, writes, **orders)
    except GoneError:
        raise ProtocolError("a process of the run could not start") from None


def order_runner(
    runner: Child,
    settings: PublicConfig,
    key: str | None,
    audience: Audience,
    *,
    source: Path | None = None,
    writes: Sequence[Path] = (),
    only_look: bool = False,
    at_door: bool = False,
    door: DoorAddress | None = None,
) -> None:
    """Send orders to the process with the network; with a ``source``, the run has no other process."""
    files = (settings.provider.ca_file, source, *(() if door is None else door.certificate))
    work = RUNNER if door is None else COORDINATOR
    order(
        runner,
        work if source is None else FOLLOWER,
        [str(each) for each in files if each is not None and Path(each).exists()],
        [str(each) for each in (settings.output.folder.absolute(), *writes)],
        quiet=audience.console.quiet,
        verbose=audience.verbose,
        # By section: as a whole it would need the models of all methods.
        settings={name: section.model_dump(mode="json") for name, section in settings},
        key=key,
        only_look=only_look,
        at_door=at_door,
        is_there=audience.person.is_there(),
        shows_progress=audience.tell is not tell_nobody,
        **({} if door is None else door.orders()),
    )
    runner.pass_on_words()


def order_decoder(decoder: Child, settings: RunConfig) -> None:
    """Have a process without files decode a run's images for the keeper; end that process for a run without images."""
    if MODALITIES[find_abilities(settings.provider.dialect).makes].needs_decoder:
        order(decoder, DECODER)
    else:
        decoder.end()


def measure(
    judge: Child,
    run: CheckedRun,
    audience: Audience,
    files: tuple[list[str], list[str]],
    orders: Mapping[str, Any],
) -> dict[str, Any]:
    """Have a process measure a run's result; it may read and write the given files."""
    try:
        judge.order(JUDGE, *files, **orders)
    except GoneError:
        raise ProtocolError(
            "the process that measures the accuracy could not start; the run itself is finished"
        ) from None
    return attend(judge, None, run.folder, audience, lambda: None)


def describe(run: CheckedRun, audience: Audience, room: Path) -> dict[str, Any]:
    """Return a run's description, without its API key, for a process with private files."""
    return {
        "quiet": audience.console.quiet,
        "verbose": audience.verbose,
        "settings": run.settings.model_dump(mode="json"),
        "room": str(room),
        "resume": run.resume,
        "keywords": spells_keywords(),
    }


@dataclass(frozen=True)
class _Question:
    question: str


@dataclass(frozen=True)
class _Begun:
    """The run is in the ledger, and its options are stored."""


@dataclass(frozen=True)
class _Agreed:
    """The owner agreed to a run without a keeper; the answer follows when its options are stored."""


@dataclass(frozen=True)
class _Ended:
    summary: dict[str, Any]


@dataclass(frozen=True)
class _Failed:
    kind: str
    lines: tuple[str, ...]
    is_reported: bool


_Message: TypeAlias = Progress | _Question | _Begun | _Agreed | _Ended | _Failed
_MESSAGES: dict[str, type[_Message]] = {
    "progress": Progress,
    "ask": _Question,
    "begun": _Begun,
    "agreed": _Agreed,
    "done": _Ended,
    "failed": _Failed,
}
"""Messages of a process to the process that started it.

The sending process is not trusted, so each message is checked.
"""


def attend(
    child: Child,
    stopped: Child | None,
    folder: RunFolder,
    audience: Audience,
    begun: Callable[[], None],
    asks: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Answer a process until it reports how its work ended.

    Args:
        stopped: The process that handles Ctrl-C; None if there is none.
        begun: Called when the run is in the ledger.
        asks: Asks the person; its words replace those that the process sent.
    """
    with nullcontext() if stopped is None else _leaving_stop_to(stopped):
        while True:
            match _read(child.pipe, folder):
                case Progress() as progress:
                    audience.tell(progress)
                case _Question(question):
                    # The process's output would overwrite the question.
                    with child.silence:
                        agrees = (asks or audience.person.agrees)(printable(question))
                    child.pipe.send("answer", json.dumps(agrees))
                case _Begun():
                    begun()
                case _Agreed():
                    begun()
                    child.pipe.send("kept")
                case _Ended(summary):
                    return summary
                case _Failed(kind, lines, is_reported):
                    raise rebuild_error(kind, *lines, is_reported=is_reported)


@cache
def _adapt(name: str) -> TypeAdapter[_Message]:
    return TypeAdapter(_MESSAGES[name])


def _read(pipe: Pipe, folder: RunFolder) -> _Message:
    try:
        name, body = pipe.receive()
        message = _adapt(name).validate_json(body)
    except GoneError:
        fault = "ended unexpectedly"
    except (PipeError, KeyError, ValidationError):
        fault = "sent something that is not a message"
    else:
        return message
    raise ProtocolError(
        f"a process of the run {fault}; everything paid for is on record: continue with "
        f"{folder.resume_command}"
    )


@contextmanager
def _leaving_stop_to(stopped: Child) -> Iterator[None]:
    """Let the runner handle Ctrl-C, because it can report the run's state; a second Ctrl-C ends the run at once."""
    pressed = [False]

    def stop(_number: int, _frame: object) -> None:
        if pressed[0]:
            raise KeyboardInterrupt
        pressed[0] = True
        stopped.process.send_signal(signal.SIGINT)

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not the main thread, which alone receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
