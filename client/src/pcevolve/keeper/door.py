"""The keeper's side of the pipe: whoever answers behind it is asked one message after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import ValidationError

from pcevolve.errors import ClientError, ProtocolError
from pcevolve.public import protocol
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.protocol import Message, Refused


def _watch_nothing(_asked: Message, _answer: Message | None) -> None:
    """Nobody watches."""


def serve(
    keeper: object,
    pipe: Pipe,
    tell: Callable[[ClientError], None],
    watch: Callable[[Message, Message | None], None] = _watch_nothing,
    kinds: Mapping[str, type[Message]] = protocol.ASKED,
) -> None:
    """Answer a runner until it has nothing more to ask, or has ended.

    Args:
        tell: Called with the reason, for the owner's eyes only, when an answer is refused; nothing is answered
            afterwards.
        kinds: Messages that the runner may send, by the name of the method that answers each.
        watch: Called with question and answer, before the answer leaves.
    """
    try:
        while _answer(keeper, pipe, watch, kinds):
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


def _answer(
    keeper: object,
    pipe: Pipe,
    watch: Callable[[Message, Message | None], None],
    kinds: Mapping[str, type[Message]],
) -> bool:
    """Answer one message; False for the last."""
    try:
        name, body = pipe.receive()
        asked = kinds[name].model_validate_json(body)
    except GoneError:
        raise
    except (PipeError, KeyError, ValidationError):
        raise ProtocolError("the runner sent what is no message of the protocol: nothing was drawn") from None
    answer: Message | None = getattr(keeper, name)(asked)
    watch(asked, answer)
    if answer is not None:
        pipe.send(type(answer).__name__.lower(), answer.model_dump_json())
    return name != "close"
