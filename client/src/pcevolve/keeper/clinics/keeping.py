"""Processes of a run of several owners: the coordinator's without private data, and an owner's with them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pcevolve.errors import ClientError
from pcevolve.keeper.clinics.coordinator import Coordinator
from pcevolve.keeper.clinics.owner import Owner, OwnOptions
from pcevolve.keeper.door import refuse, serve
from pcevolve.keeper.keeping import decoded_elsewhere, read_orders, tell_owner
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics.messages import ASKED_OF_COORDINATOR, ASKED_OF_OWNER
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe, PipeError


def add_up(orders: Mapping[str, Any], _enforced: Enforcement, _up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Be the coordinator's process that makes the plan and adds up."""
    run, screen = read_orders(orders)
    with decoded_elsewhere(asks), spell_as(AS_KEYWORDS) if orders["keywords"] else nullcontext():
        try:
            coordinator = Coordinator(run, screen)
        except ClientError as error:
            tell_owner(error)
            refuse(across, error)
            return
        serve(coordinator, across, tell_owner, kinds=ASKED_OF_COORDINATOR)


@dataclass(frozen=True)
class _ConsentOfLauncher:
    """The person's word by the pipe of whoever started this process, who has neither network nor private files."""

    up: Pipe

    def ask(self) -> None:
        """See ``Consent``."""
        self.up.send("ask")

    def is_given(self) -> bool:
        """See ``Consent``."""
        return self.up.receive() == ("answer", "true")


def own(orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Be an owner's process with the private data."""
    tempfile.tempdir = orders["room"]
    screen = OwnerScreen(orders["verbose"], orders["quiet"])
    if not enforced.is_whole:
        screen.print(f"NOTE: private files and the network are two processes: {enforced}")
    given = dict(orders["own"])
    paths = {
        name: None if given.pop(name) is None else Path(orders["own"][name])
        for name in ("roster", "key", "folder", "ledger", "unit_map")
    }
    texts = tuple(given.pop("texts"))
    limits = {name: None if given[name] is None else Fraction(given[name]) for name in ("lifetime", "most")}
    with decoded_elsewhere(asks):
        try:
            options = OwnOptions(**{**given, **paths, "texts": texts, **limits})
            owner = Owner(options, screen, _ConsentOfLauncher(up))
        except ClientError as error:
            tell_owner(error)
            refuse(across, error)
            return
        serve(owner, across, tell_owner, kinds=ASKED_OF_OWNER)
    with suppress(PipeError):  # a word on the plan that nobody asked for any more is no order
        up.receive()
