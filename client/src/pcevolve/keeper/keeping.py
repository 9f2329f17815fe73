"""The keeper's process of a run, from its orders to the end of the conversation with the runner."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from pydantic import ValidationError

from pcevolve.errors import ClientError, ProtocolError, printable
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import AS_KEYWORDS, spell_as
from pcevolve.public.media.images.decoding import RecentImages, decoding_by
from pcevolve.public.media.images.elsewhere import Elsewhere
from pcevolve.public.parts import Confinement
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.protocol import Message, Refused
from pcevolve.public.run.checked import CheckedRun


def keep(orders: Mapping[str, Any], enforced: Enforcement, _up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Run as the keeper of a run; another process decodes images."""
    run, screen = read_orders(orders)
    if not enforced.is_whole:
        screen.print(f"NOTE: one process has the private files and another has the network: {enforced}")
    with decoded_elsewhere(asks), spell_as(AS_KEYWORDS) if orders["keywords"] else nullcontext():
        try:
            kernel = Confinement(by="kernel", landlock=enforced.landlock) if enforced.is_whole else None
            keeper = Keeper(run, screen, kernel)
        except ClientError as error:
            tell_owner(error)
            refuse(across, error)
            return
        serve(keeper, across, tell_owner)


@contextmanager
def decoded_elsewhere(asks: Pipe) -> Iterator[None]:
    """Have the process at the other end of a pipe decode foreign images; at the end, tell that process to stop."""
    elsewhere = Elsewhere(asks)
    try:
        with decoding_by(RecentImages(elsewhere.decode).decode):
            yield
    finally:
        elsewhere.end()


def tell_owner(error: ClientError) -> None:
    """Show the reason for a refusal on the owner's screen."""
    print(f"error: {printable(str(error))}", file=sys.stderr)


def read_orders(orders: Mapping[str, Any]) -> tuple[CheckedRun, OwnerScreen]:
    """Read the run from a process's orders, and make the owner's screen."""
    tempfile.tempdir = orders["room"]
    run = CheckedRun(RunConfig.model_validate(orders["settings"]), orders["resume"])
    return run, OwnerScreen(orders["verbose"], orders["quiet"])


def _watch_nothing(_asked: Message, _answer: Message | None) -> None: ...


def serve(
    keeper: object,
    pipe: Pipe,
    tell: Callable[[ClientError], None],
    watch: Callable[[Message, Message | None], None] = _watch_nothing,
    kinds: Mapping[str, type[Message]] = protocol.ASKED,
) -> None:
    """Answer a runner until it has no more requests, or has ended.

    Args:
        tell: Called with the reason, for the owner alone, when a message is refused. Nothing is answered
            after a refusal.
        kinds: Messages that the runner may send, by the name of the method that answers each.
        watch: Called with question and answer, before the answer is sent.
    """
    try:
        while _answer(keeper, pipe, watch, kinds):
            pass
    except GoneError:
        return
    except ClientError as error:
        tell(error)
        refuse(pipe, error)
    except OSError as error:  # such as a full disk, or a folder without write permission
        failed = ClientError(str(error))
        tell(failed)
        refuse(pipe, failed)


def refuse(pipe: Pipe, error: ClientError) -> None:
    """Send a refusal that contains only the kind of error, without its message."""
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
    """Answer one message; return False after the last one."""
    try:
        name, body = pipe.receive()
        asked = kinds[name].model_validate_json(body)
    except GoneError:
        raise
    except (PipeError, KeyError, ValidationError):
        raise ProtocolError(
            "the runner sent something that is not a message of the protocol: nothing was drawn"
        ) from None
    answer: Message | None = getattr(keeper, name)(asked)
    watch(asked, answer)
    if answer is not None:
        pipe.send(type(answer).__name__.lower(), answer.model_dump_json())
    return name != "close"
