"""The handshake of keeper and client when each is a separate command. It covers settings and confinement.

Each side checks its own confinement. The plan claims only confinement that both sides found.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pcevolve.errors import ProtocolError, UsageError
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.parts import Confinement
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError

Answer = TypeVar("Answer", "Welcome", "ClientStatement")


class FrontSettings(BaseModel):
    """Options of one of several owners for its process with the network. They contain nothing about the owner's data.

    Attributes:
        url: Address of the coordinator.
        folder: Folder for the copy of the coordinator's record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    url: str
    ca_file: Path | None
    folder: Path


class Welcome(BaseModel):
    """The keeper's first message: what the client may know of the run, and how the keeper is kept off the network.

    Attributes:
        is_cut_off: True if the kernel reports that only loopback is up and that the client is in another container.
        landlock: Landlock version if the kernel confines the keeper's process; otherwise 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    settings: PublicConfig | FrontSettings
    resume: bool
    is_cut_off: bool
    landlock: int


class ClientStatement(BaseModel):
    """The client's answer, which states how the client is kept from private files.

    Attributes:
        is_contained: True if the client runs in a container whose only mounts are the runs' folder and the
            socket's folder.
        landlock: Landlock version if the kernel will confine the process with the network; otherwise 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    is_contained: bool
    landlock: int


def agree(keeper: Welcome, client: ClientStatement) -> Confinement | None:
    """Return the confinement that both sides found; None if they share none."""
    if keeper.is_cut_off and client.is_contained:
        return Confinement(by="containers")
    # The older version of the two, because the plan's claim must hold for both sides.
    if keeper.landlock and client.landlock:
        return Confinement(by="kernel", landlock=min(keeper.landlock, client.landlock))
    return None


def require_agreed(confinement: Confinement | None, is_demanded: bool) -> None:
    """Refuse to continue if confinement is required and the two sides agreed on none (``UsageError``)."""
    if is_demanded and confinement is None:
        raise UsageError(
            "confinement is required, and neither containers nor the kernel keep keeper and client apart: the keeper "
            "must have no network, and the client must see no folders except that of the runs and that of the socket; "
            "nothing was read or sent"
        )


def receive(pipe: Pipe, name: str, kind: type[Answer]) -> Answer:
    """Wait for a message of one kind (``ProtocolError`` for any other message)."""
    try:
        kind_name, body = pipe.receive()
        if kind_name == name:
            return kind.model_validate_json(body)
    except GoneError:
        raise ProtocolError(
            "the other process at this socket ended, or already had a client: start keeper and client again"
        ) from None
    except (PipeError, ValidationError):
        pass
    raise ProtocolError(
        f"the other process at this socket sent something other than {name}: nothing was drawn"
    )


def wait_for_word(pipe: Pipe) -> None:
    """Wait until the other side sends any message or ends."""
    with suppress(PipeError):
        pipe.receive()
