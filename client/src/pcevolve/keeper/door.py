"""The keeper's side of the pipe: whoever answers behind it is asked one message after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from pcevolve.errors import ClientError, ProtocolError
from pcevolve.public import protocol
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.protocol import Message, PrivateSide, Refused


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
