"""What keeper and client say first, each a command of its own: what a client may know, and what keeps them apart.

Each checks its own side. What both found is what the plan says of them; what only one found, nobody claims.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pcevolve.errors import ProtocolError, UsageError
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.parts import Confinement
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError

Said = TypeVar("Said", "Welcome", "ClientStatement")


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


class ClientStatement(BaseModel):
    """What the client answers: what keeps it from private files.

    Attributes:
        is_contained: It is in a container that has nothing of its machine but the runs and the socket's folder.
        landlock: Its version, if the kernel will confine the process with the network; else 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    is_contained: bool
    landlock: int


def agree(keeper: Welcome, client: ClientStatement) -> Confinement | None:
    """What keeps both sides apart, as far as each has checked its own."""
    if keeper.is_cut_off and client.is_contained:
        return Confinement(by="containers")
    if keeper.landlock and client.landlock:
        return Confinement(by="kernel", landlock=min(keeper.landlock, client.landlock))
    return None


def require_agreed(confinement: Confinement | None, is_demanded: bool) -> None:
    """Refuse to go on where confinement is demanded and none is agreed on (``UsageError``)."""
    if is_demanded and confinement is None:
        raise UsageError(
            "confinement is required, and neither containers nor the kernel keep keeper and client apart: the keeper "
            "must have no network, and the client no folder but the runs and the socket's; nothing was read or sent"
        )


def receive(pipe: Pipe, name: str, kind: type[Said]) -> Said:
    """Wait for a message of one kind (``ProtocolError`` for anything else)."""
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


def wait_for_word(pipe: Pipe) -> None:
    """Wait until the other says something, or ends."""
    with suppress(PipeError):
        pipe.receive()
