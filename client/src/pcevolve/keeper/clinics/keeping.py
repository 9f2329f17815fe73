"""Processes of a run of several owners: the coordinator's, without private data, and an owner's, with them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from pcevolve.errors import ClientError
from pcevolve.keeper.at_door import attend, meet
from pcevolve.keeper.clinics.coordinator import Coordinator
from pcevolve.keeper.clinics.owner import Owner, OwnOptions
from pcevolve.keeper.keeping import decoded_elsewhere, read_orders, refuse, serve, tell_owner
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics.messages import ASKED_OF_COORDINATOR, ASKED_OF_OWNER
from pcevolve.public.config.options import AS_KEYWORDS, at_door, spell_as
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe, PipeError
from pcevolve.public.run.meeting import FrontSettings
from pcevolve.public.screen import Fact

QUESTION: Final = "Take part in this run with your data?"


def add_up(orders: Mapping[str, Any], _enforced: Enforcement, _up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Run as the coordinator's process, which makes the plan and sums answers."""
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
    """The person's consent, obtained by the parent process, which has neither network nor private files."""

    up: Pipe

    def ask(self) -> None:
        self.up.send("ask", json.dumps({"question": QUESTION}))

    def is_given(self) -> bool:
        return self.up.receive() == ("answer", "true")


def own(orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Run as an owner's process, which has the private data."""
    screen = _prepare(orders)
    if not enforced.is_whole:
        screen.print(f"NOTE: one process has the private files and another has the network: {enforced}")
    with decoded_elsewhere(asks):
        try:
            owner = _make_owner(orders, screen, up)
        except ClientError as error:
            tell_owner(error)
            refuse(across, error)
            return
        serve(owner, across, tell_owner, kinds=ASKED_OF_OWNER)
    _drop_word(up)


@at_door()
def own_at_door(orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, asks: Pipe, across: Pipe) -> None:
    """Run as an owner's process whose front end is another command, connected through a socket file."""
    screen = _prepare(orders)

    def make() -> Owner:
        settings = FrontSettings.model_validate(orders["front"])
        confinement = meet(orders, enforced, across, settings, resume=True)
        by = "not enforced" if confinement is None else f"enforced {confinement.words}"
        screen.print_facts([Fact("confinement", f"private files and the network: {by}")])
        return _make_owner(orders, screen, up)

    with decoded_elsewhere(asks):
        attend(make, screen, up, across, ASKED_OF_OWNER)
    _drop_word(up)


def _prepare(orders: Mapping[str, Any]) -> OwnerScreen:
    tempfile.tempdir = orders["room"]
    return OwnerScreen(orders["verbose"], orders["quiet"])


def _drop_word(up: Pipe) -> None:
    with suppress(PipeError):  # an answer about the plan that is no longer awaited
        up.receive()


def _make_owner(orders: Mapping[str, Any], screen: OwnerScreen, up: Pipe) -> Owner:
    given = dict(orders["own"])
    paths = {
        name: None if given.pop(name) is None else Path(orders["own"][name])
        for name in ("roster", "key", "folder", "ledger", "unit_map")
    }
    texts = tuple(given.pop("texts"))
    limits = {name: None if given[name] is None else Fraction(given[name]) for name in ("lifetime", "most")}
    return Owner(OwnOptions(**{**given, **paths, "texts": texts, **limits}), screen, _ConsentOfLauncher(up))
