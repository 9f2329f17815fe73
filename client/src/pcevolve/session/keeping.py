"""The keeper's process of a run: from its orders to the end of the conversation with the runner."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.errors import ClientError, printable
from pcevolve.keeper.door import refuse, serve
from pcevolve.privacy import Budget
from pcevolve.processes.confinement import Enforcement
from pcevolve.processes.pipe import Pipe
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.parts import Confinement
from pcevolve.session.checked import CheckedRun
from pcevolve.session.folder import RunFolder
from pcevolve.session.keeper import Keeper
from pcevolve.session.progress import Audience, error_console


def keep(orders: Mapping[str, Any], enforced: Enforcement, _up: Pipe, across: Pipe) -> None:
    """Be the keeper of a run."""
    run, audience = read_orders(orders)
    if not enforced.is_whole:
        audience.console.print(f"NOTE: private files and the network are two processes: {enforced}")
    with spell_as(AS_KEYWORDS) if orders["keywords"] else nullcontext():
        try:
            kernel = Confinement(by="kernel", landlock=enforced.landlock) if enforced.is_whole else None
            keeper = Keeper(run, audience, kernel)
        except ClientError as error:
            tell_owner(error)
            refuse(across, error)
            return
        serve(keeper, across, tell_owner)


def tell_owner(error: ClientError) -> None:
    """Tell the owner why something is refused, on the owner's own screen."""
    print(f"error: {printable(str(error))}", file=sys.stderr)


def read_orders(orders: Mapping[str, Any]) -> tuple[CheckedRun, Audience]:
    """The run that a process with private files is told of, and its owner."""
    tempfile.tempdir = orders["room"]
    settings = RunConfig.model_validate(orders["settings"])
    epsilon, delta = orders["budget"]
    lifetime = orders["lifetime"]
    run = CheckedRun(
        settings,
        RunFolder(settings.output.folder),
        orders["resume"],
        Budget(parse_epsilon(epsilon), delta),
        None if lifetime is None else parse_epsilon(lifetime),
    )
    console = Console(quiet=True) if orders["quiet"] else error_console()
    return run, Audience(console, verbose=orders["verbose"])
