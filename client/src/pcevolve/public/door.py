"""The keeper's door between two processes: who answers behind it, and who asks before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import ValidationError

from pcevolve.errors import ClientError, ProtocolError, make_told
from pcevolve.public import protocol
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.protocol import Message, PrivateSide

Answer = TypeVar("Answer", bound=Message)
GONE = "the keeper of the private data ended in the middle of the run: what is paid for is in the ledger"


class Refused(Message):
    """Nothing is answered any more: a kind of error and an exit code. Why is told to the owner by the keeper itself."""

    kind: str
    code: int


def _watch_nothing(_asked: Message, _answer: Message | None) -> None:
    """Nobody watches."""


def serve(
    keeper: PrivateSide,
    pipe: Pipe,
    tell: Callable[[ClientError], None],
    watch: Callable[[Message, Message | None], None] = _watch_nothing,
) -> None:
    """Answer a runner until it has nothing more to ask, or is gone.

    Args:
        tell: Told, for the owner alone, why an answer is refused; nothing is answered afterwards.
        watch: Told what was asked and is answered, before the answer leaves.
    """
    try:
        while _answer(keeper, pipe, watch):
            pass
    except GoneError:
        return
    except ClientError as error:
        tell(error)
        refuse(pipe, error)
    except OSError as error:  # a full disk, a folder that may not be written
        failed = ClientError(str(error))
        tell(failed)
        refuse(pipe, failed)


def refuse(pipe: Pipe, error: ClientError) -> None:
    """Say that there will be no answer, and of which kind the reason is."""
    refused = Refused(kind=type(error).__name__, code=error.exit_code)
    try:
        pipe.send("refused", refused.model_dump_json())
    except GoneError:
        return


def _answer(keeper: PrivateSide, pipe: Pipe, watch: Callable[[Message, Message | None], None]) -> bool:
    """Answer one message; False for the last."""
    asks: dict[str, tuple[type[Message], Callable[[Any], Message | None]]] = {
        "prepare": (protocol.Prepare, keeper.prepare),
        "settle": (protocol.Settle, keeper.settle),
        "begin": (protocol.Begin, keeper.begin),
        "compare": (protocol.Compare, keeper.compare),
        "made": (protocol.Made, keeper.made),
        "show": (protocol.Show, keeper.show),
        "release": (protocol.Release, keeper.release),
        "assess": (protocol.Assess, keeper.assess),
        "finish": (protocol.Finish, keeper.finish),
        "close": (protocol.Close, keeper.close),
    }
    try:
        name, body = pipe.receive()
        kind, ask = asks[name]
        asked = kind.model_validate_json(body)
    except GoneError:
        raise
    except (PipeError, KeyError, ValidationError):
        raise ProtocolError("the runner sent what is no message of the protocol: nothing was drawn") from None
    answer = ask(asked)
    watch(asked, answer)
    if answer is not None:
        pipe.send(type(answer).__name__.lower(), answer.model_dump_json())
    return name != "close"


class RemoteKeeper:
    """The keeper in another process. What it refuses is raised as an error of its kind, whose text is told above."""

    def __init__(self, pipe: Pipe, tell_begun: Callable[[], None] = lambda: None) -> None:
        """Ask at the other end of a pipe; ``tell_begun`` is called when the run is in the ledger."""
        self._pipe, self._tell_begun = pipe, tell_begun

    def prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        """See ``Prepare``."""
        return self._ask(asked, protocol.Prepared)

    def settle(self, said: protocol.Settle) -> protocol.Settled:
        """See ``Settle``."""
        return self._ask(said, protocol.Settled)

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        """See ``Begin``."""
        begun = self._ask(asked, protocol.Begun)
        self._tell_begun()
        return begun

    def compare(self, asked: protocol.Compare) -> protocol.Compared:
        """See ``Compare``."""
        return self._ask(asked, protocol.Compared)

    def made(self, told: protocol.Made) -> None:
        """See ``Made``."""
        self._send(told)

    def show(self, asked: protocol.Show) -> protocol.Shown:
        """See ``Show``."""
        return self._ask(asked, protocol.Shown)

    def release(self, asked: protocol.Release) -> protocol.Released:
        """See ``Release``."""
        return self._ask(asked, protocol.Released)

    def assess(self, asked: protocol.Assess) -> protocol.Assessed:
        """See ``Assess``."""
        return self._ask(asked, protocol.Assessed)

    def finish(self, told: protocol.Finish) -> protocol.Done:
        """See ``Finish``."""
        return self._ask(told, protocol.Done)

    def close(self, asked: protocol.Close) -> None:
        """See ``Close``; a keeper that is gone has nothing more to say."""
        with _ignoring(ProtocolError):
            self._send(asked)

    def _send(self, asked: Message) -> None:
        try:
            self._pipe.send(type(asked).__name__.lower(), asked.model_dump_json())
        except GoneError:
            # It may have refused something before it ended.
            self._receive(protocol.Done)
            raise ProtocolError(GONE) from None

    def _ask(self, asked: Message, kind: type[Answer]) -> Answer:
        self._send(asked)
        return self._receive(kind)

    def _receive(self, kind: type[Answer]) -> Answer:
        try:
            name, body = self._pipe.receive()
            if name == "refused":
                raise make_told(Refused.model_validate_json(body).kind, "see above")
            if name != kind.__name__.lower():
                raise ProtocolError(f"the keeper answered {name[:20]!a}, and was asked for {kind.__name__}")
            return kind.model_validate_json(body)
        except GoneError:
            raise ProtocolError(GONE) from None
        except (PipeError, ValidationError):
            raise ProtocolError("the keeper sent what is no message of the protocol") from None


@contextmanager
def _ignoring(kind: type[ClientError]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
