"""A run of two commands, each in a container of its own: a keeper without network, and a client without private files.

They share a socket file and the folder of runs, in which the keeper only reads. The messages are those between the
processes of one command. The keeper has all options, and hands the client the public ones; each checks what keeps it
apart from the other's side, and says so before anything private is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pcevolve.config.runner import PublicConfig
from pcevolve.egress.address import require_key
from pcevolve.encoders import has_torch
from pcevolve.errors import ClientError, ProtocolError, UsageError, make_told
from pcevolve.keeper import protocol
from pcevolve.keeper.door import GONE, refuse, serve
from pcevolve.processes.confinement import Enforcement, find_enforcement
from pcevolve.processes.doorway import is_contained
from pcevolve.processes.launcher import ClientsSide, KeepersSide
from pcevolve.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.providers import dialect
from pcevolve.public.options import AS_KEYWORDS, spell_as
from pcevolve.public.parts import Confinement
from pcevolve.publish.loss import Loss
from pcevolve.publish.promises import state_confinement
from pcevolve.screen import Fact, lay_out_facts
from pcevolve.selectors import find_method, list_paid_events
from pcevolve.session.apart import (
    attend,
    claim,
    describe,
    give_room,
    link_owners,
    list_files,
    may_be_measured,
    order_judge,
    order_runner,
    read_orders,
    tell_owner,
)
from pcevolve.session.folder import RunFolder
from pcevolve.session.keeper import Keeper
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import Audience

KEEPER: Final = "pcevolve.session.containers:keep"
CLIENT_GONE: Final = (
    "the client ended in the middle of the run: what is paid for is in the ledger; to go on, begin both again"
)
Said = TypeVar("Said", "Welcome", "Claim")


class Welcome(BaseModel):
    """What the keeper says first: what the client may know of the run, and what keeps the keeper from the network.

    Attributes:
        is_cut_off: No interface but loopback is up, and the client is in another container, says the kernel.
        landlock: Its version, if the kernel confines the keeper's process; else 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    settings: PublicConfig
    resume: bool
    is_cut_off: bool
    landlock: int


class Claim(BaseModel):
    """What the client answers: what keeps it from private files.

    Attributes:
        is_contained: It is in a container that has nothing of its machine but the runs and the socket's folder.
        landlock: Its version, if the kernel will confine the process with the network; else 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    is_contained: bool
    landlock: int


def agree(keeper: Welcome, client: Claim) -> Confinement | None:
    """What keeps both sides apart, as far as each has checked its own."""
    if keeper.is_cut_off and client.is_contained:
        return Confinement(by="containers")
    if keeper.landlock and client.landlock:
        return Confinement(by="kernel", landlock=min(keeper.landlock, client.landlock))
    return None


def _require(confinement: Confinement | None, is_demanded: bool) -> None:
    if is_demanded and confinement is None:
        raise UsageError(
            "confinement is required, and neither containers nor the kernel keep keeper and client apart: the keeper "
            "must have no network, and the client no folder but the runs and the socket's; nothing was read or sent"
        )


def keep_at_door(
    run: CheckedRun, side: KeepersSide, socket: Path, audience: Audience, *, is_demanded: bool = False
) -> None:
    """Keep one run's private data for the client that comes to a socket file; then measure, if there are test data.

    Raises:
        ClientError: Why it ended; of what was refused, the kind.
    """
    for folder in (run.settings.privacy.ledger.absolute().parent, socket.absolute().parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    run.folder.root.absolute().parent.mkdir(parents=True, exist_ok=True)
    is_over = False
    with give_room() as room:
        try:
            orders = {**describe(run, audience, room), "door": str(socket), "is_demanded": is_demanded}
            side.keeper.order(KEEPER, *list_files(run, room), **orders)
            audience.console.print(f"waiting for a client at {socket}")
            figures = attend(side.keeper, None, run.folder, audience, lambda: link_owners(run))
            if figures and may_be_measured(run.settings) and has_torch():
                order_judge(run, side.judge, audience, room, figures)
                attend(side.judge, None, run.folder, audience, lambda: None)
            is_over = True
        except GoneError:
            raise ProtocolError("a process of the run could not begin") from None
        finally:
            # It tells the client that all is over, and waits for its end: whoever ends first ends the containers.
            for each in (side.keeper, side.judge):
                each.end(kill=not is_over)


def run_at_door(side: ClientsSide, audience: Audience, *, is_demanded: bool = False) -> dict[str, Any]:
    """Be the client of a keeper that is another command; the finished run's summary.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and both commands go on from there.
    """
    is_over = False
    try:
        welcome = _receive(side.door, "welcome", Welcome)
        settings = welcome.settings
        folder, key = RunFolder(settings.output.folder), settings.key()
        require_key(key, dialect(settings.provider.dialect).scheme)
        shared = [str(folder.root.absolute().parent), side.folder]
        claimed = Claim(is_contained=is_contained(shared), landlock=_find_landlock())
        _require(agree(welcome, claimed), is_demanded)
        with claim(folder, welcome.resume):
            side.door.send("claim", claimed.model_dump_json())
            order_runner(side.runner, settings, key, audience)
            side.runner.pass_on_words()
            found = attend(side.runner, side.runner, folder, audience, lambda: None)
            folder.forget_times()
        side.runner.end()
        # The keeper may have something to measure, and speaks when that is done.
        _wait_for_word(side.door)
        is_over = True
        return found
    except GoneError:
        raise ProtocolError(GONE) from None
    except ClientError as error:
        if error.is_told:  # on the keeper's side, whose words are for the owner alone
            raise make_told(
                type(error).__name__, "the keeper refuses to go on, and says why", is_told=False
            ) from None
        raise
    finally:
        side.runner.end(kill=not is_over)


def _wait_for_word(pipe: Pipe) -> None:
    """Wait until the other says something, or ends."""
    with suppress(PipeError):
        pipe.receive()


def _receive(pipe: Pipe, name: str, kind: type[Said]) -> Said:
    try:
        said, body = pipe.receive()
        if said == name:
            return kind.model_validate_json(body)
    except GoneError:
        raise ProtocolError(
            "whoever is at the socket ended before the run began, or had another client: begin both again"
        ) from None
    except (PipeError, ValidationError):
        pass
    raise ProtocolError(f"whoever is at the socket sent what is no {name}: nothing was drawn")


def _find_landlock() -> int:
    found = find_enforcement()
    return found.landlock if found.is_whole else 0


# In the keeper's process.


class _DoorKeeper(Keeper):
    """A keeper that shows the owner what a run will cost, and tells who started it how far the run came."""

    is_closed = False
    figures: Mapping[str, Any] = {}
    up: Pipe
    audience: Audience

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        """See ``Begin``."""
        begun = super().begin(asked)
        self.up.send("begun")
        return begun

    def settle(self, said: protocol.Settle) -> protocol.Settled:
        """See ``Settle``."""
        settled = super().settle(said)
        plan = settled.plan
        paid = list_paid_events(plan)
        facts = [
            Fact("method", f"{find_method(plan.method).summary}; {plan.model} at {plan.api}"),
            Fact(
                "privacy",
                f"{Loss.of(plan, paid).say()}, delta {plan.budget.delta:g}"
                if paid
                else "nothing is paid for",
            ),
            Fact("confinement", state_confinement(plan)),
        ]
        self.audience.console.print(lay_out_facts(facts, self.audience.verbose))
        return settled

    def finish(self, told: protocol.Finish) -> protocol.Done:
        """See ``Finish``."""
        self.figures = told.figures
        return super().finish(told)

    def close(self, asked: protocol.Close = protocol.Close()) -> None:  # noqa: B008 - frozen
        """See ``Close``."""
        super().close(asked)
        self.is_closed = True


def keep(orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, across: Pipe) -> None:
    """Be the keeper for the client behind ``across``, until both sides are over."""
    run, audience = read_orders(orders)
    refused: list[ClientError] = []

    def tell(error: ClientError) -> None:
        tell_owner(error)
        refused.append(error)

    with spell_as(AS_KEYWORDS) if orders["keywords"] else nullcontext():
        try:
            keeper = _welcome(run, audience, across, orders, enforced)
            keeper.up, keeper.audience = up, audience
            serve(keeper, across, tell)
            if not keeper.is_closed and not refused:
                tell(ProtocolError(CLIENT_GONE))
        except ClientError as error:
            tell(error)
            refuse(across, error)
    if refused:
        told = {"kind": type(refused[0]).__name__, "lines": ["see above"], "is_told": True}
        up.send("failed", json.dumps(told))
        return
    up.send("done", json.dumps({"summary": {**keeper.figures}}))
    # Whoever started this closes its end when nothing is left to measure; the client goes first.
    _wait_for_word(up)
    with suppress(GoneError):
        across.send("over")
        _wait_for_word(across)


def _welcome(
    run: CheckedRun, audience: Audience, across: Pipe, orders: Mapping[str, Any], enforced: Enforcement
) -> _DoorKeeper:
    """Say what the client may know, hear what keeps it from private files, and read them."""
    welcome = Welcome(
        settings=run.settings.public(),
        resume=run.resume,
        is_cut_off=orders["is_cut_off"],
        landlock=enforced.landlock if enforced.is_whole else 0,
    )
    try:
        across.send("welcome", welcome.model_dump_json())
    except GoneError:
        raise ProtocolError(CLIENT_GONE) from None
    confinement = agree(welcome, _receive(across, "claim", Claim))
    _require(confinement, orders["is_demanded"])
    return _DoorKeeper(run, audience, confinement)
