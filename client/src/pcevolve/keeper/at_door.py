"""The keeper's process when the runner is a command in another container, connected through a socket file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

from pcevolve.errors import REPORTED_ELSEWHERE, ClientError, ProtocolError
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.keeping import decoded_elsewhere, read_orders, refuse, serve, tell_owner
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public import protocol
from pcevolve.public.config.options import AS_KEYWORDS, at_door, spell_as
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.parts import Confinement
from pcevolve.public.plan import PublicPlan
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import GoneError, Pipe
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.publish.promises import state_confinement
from pcevolve.public.run.meeting import (
    ClientStatement,
    FrontSettings,
    Welcome,
    agree,
    receive,
    require_agreed,
    wait_for_word,
)
from pcevolve.public.screen import Fact
from pcevolve.public.selectors import list_paid_events

CLIENT_GONE: Final = (
    "the client ended during the run: everything paid for is in the ledger; to continue, start keeper "
    "and client again"
)
GAVE_UP: Final = (
    "the client stopped the run; see the client's messages. Everything paid for is in the ledger; to "
    "continue, start keeper and client again"
)


@dataclass
class _Watch:
    """Shows the owner the cost of a run, and reports the run's progress to the keeper's parent process.

    Attributes:
        figures: The finished run's figures; None before the end.
        is_closed: Whether the client has no more requests.
    """

    screen: OwnerScreen
    up: Pipe
    figures: Mapping[str, Any] | None = None
    is_closed: bool = False

    def __call__(self, asked: protocol.Message, answer: protocol.Message | None) -> None:
        match asked, answer:
            case _, protocol.Settled(plan=plan):
                self.screen.print_facts(_describe(plan))
            case protocol.Begin(), _:
                self.up.send("begun")
            case protocol.Finish(figures=figures), _:
                self.figures = figures
            case protocol.Close(), _:
                self.is_closed = True


def _describe(plan: PublicPlan) -> list[Fact]:
    paid = list_paid_events(plan)
    loss = f"{PrivacyLoss.of(plan, paid).say()}, delta {plan.budget.delta:g}"
    return [
        Fact("server", f"{plan.provider.model} at {plan.provider.api}"),
        Fact("privacy", loss if paid else "nothing was paid for"),
        Fact("confinement", state_confinement(plan)),
    ]


@at_door()
def keep_at_door(
    orders: Mapping[str, Any], enforced: Enforcement, up: Pipe, asks: Pipe, across: Pipe
) -> None:
    """Run as the keeper for the client at the other end of the pipe ``across``, until both sides have ended."""
    run, screen = read_orders(orders)

    def make() -> Keeper:
        confinement = meet(orders, enforced, across, run.settings.public(), resume=run.resume)
        return Keeper(run, screen, confinement)

    with decoded_elsewhere(asks), spell_as(AS_KEYWORDS) if orders["keywords"] else nullcontext():
        attend(make, screen, up, across)


def attend(
    make: Callable[[], object],
    screen: OwnerScreen,
    up: Pipe,
    across: Pipe,
    kinds: Mapping[str, type[protocol.Message]] = protocol.ASKED,
) -> None:
    """Answer the client at the other end of the pipe ``across`` until both sides have ended.

    Args:
        make: Makes the object that answers; called after the handshake.
        kinds: As in ``serve``.
    """
    refused, watch = list[ClientError](), _Watch(screen, up)

    def tell(error: ClientError) -> None:
        tell_owner(error)
        refused.append(error)

    try:
        serve(make(), across, tell, watch, kinds)
        if not watch.is_closed and not refused:
            tell(ProtocolError(CLIENT_GONE))
        elif watch.figures is None and not refused:
            wait_for_word(across)  # the first process to end ends both containers, with its exit code
            tell(ProtocolError(GAVE_UP))
    except ClientError as error:
        tell(error)
        refuse(across, error)
    if refused:
        failure = {"kind": type(refused[0]).__name__, "lines": [REPORTED_ELSEWHERE], "is_reported": True}
        up.send("failed", json.dumps(failure))
        return
    up.send("done", json.dumps({"summary": {**(watch.figures or {})}}))
    # The client ends first. The parent closes its end when nothing is left to measure.
    wait_for_word(up)
    with suppress(GoneError):
        across.send("over")
        wait_for_word(across)


def meet(
    orders: Mapping[str, Any],
    enforced: Enforcement,
    across: Pipe,
    settings: PublicConfig | FrontSettings,
    *,
    resume: bool,
) -> Confinement | None:
    """Exchange the handshake with the client; return how both sides are confined, None if they are not."""
    welcome = Welcome(
        settings=settings,
        resume=resume,
        is_cut_off=orders["is_cut_off"],
        landlock=enforced.landlock if enforced.is_whole else 0,
    )
    try:
        across.send("welcome", welcome.model_dump_json())
    except GoneError:
        raise ProtocolError(CLIENT_GONE) from None
    confinement = agree(welcome, receive(across, "claim", ClientStatement))
    require_agreed(confinement, orders["is_demanded"])
    return confinement
