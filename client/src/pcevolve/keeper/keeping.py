"""The keeper's process of a run: from its orders to the end of the conversation with the runner."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from pcevolve.errors import ClientError, printable
from pcevolve.keeper.door import refuse, serve
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.config.config import RunConfig
from pcevolve.public.media.images.decoding import decoding_by
from pcevolve.public.media.images.elsewhere import Elsewhere
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.parts import Confinement
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.run.checked import CheckedRun


def keep(orders: Mapping[str, Any], enforced: Enforcement, _up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Be the keeper of a run, who asks another process what images show."""
    run, screen = read_orders(orders)
    if not enforced.is_whole:
        screen.print(f"NOTE: private files and the network are two processes: {enforced}")
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
    """Have strangers' images decoded by the process behind a pipe, which is told when that is over."""
    elsewhere = Elsewhere(asks)
    try:
        with decoding_by(elsewhere.decode):
            yield
    finally:
        elsewhere.end()


def tell_owner(error: ClientError) -> None:
    """Tell the owner why something is refused, on the owner's own screen."""
    print(f"error: {printable(str(error))}", file=sys.stderr)


def read_orders(orders: Mapping[str, Any]) -> tuple[CheckedRun, OwnerScreen]:
    """The run that a process with private files is told of, and its owner."""
    tempfile.tempdir = orders["room"]
    run = CheckedRun(RunConfig.model_validate(orders["settings"]), orders["resume"])
    return run, OwnerScreen(orders["verbose"], orders["quiet"])
