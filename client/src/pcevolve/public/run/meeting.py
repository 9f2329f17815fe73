"""The handshake of keeper and client when each is a command of its own: settings, and what keeps the two apart.

Each checks its own side. The plan states what both found; a finding of one side alone is not claimed.
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
    """The options of one of several owners for its side with the network; nothing about its data.

    Attributes:
        url: Address of the coordinator.
        folder: Folder of the copy of the coordinator's record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    url: str
    ca_file: Path | None
    folder: Path


class Welcome(BaseModel):
    """The keeper's first message: what the client may know of the run, and what keeps the keeper from the network.

    Attributes:
        is_cut_off: The kernel says that only loopback is up and that the client is in another container.
        landlock: Landlock's version, if the kernel confines the keeper's process; else 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    settings: PublicConfig | FrontSettings
    resume: bool
    is_cut_off: bool
    landlock: int


class ClientStatement(BaseModel):
    """The client's answer: what keeps it from private files.

    Attributes:
        is_contained: It runs in a container that sees nothing of its machine but the runs and the socket's
            folder.
        landlock: Landlock's version, if the kernel will confine the process with the network; else 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    is_contained: bool
    landlock: int


def agree(keeper: Welcome, client: ClientStatement) -> Confinement | None:
    """Return what keeps both sides apart, as far as each has checked its own side; None if nothing does."""
    if keeper.is_cut_off and client.is_contained:
        return Confinement(by="containers")
    if keeper.landlock and client.landlock:
        return Confinement(by="kernel", landlock=min(keeper.landlock, client.landlock))
    return None


def require_agreed(confinement: Confinement | None, is_demanded: bool) -> None:
    """Refuse to go on if confinement is demanded and none is agreed on (``UsageError``)."""
    if is_demanded and confinement is None:
        raise UsageError(
            "confinement is required, and neither containers nor the kernel keep keeper and client apart: the keeper "
            "must have no network, and the client must see no folders except that of the runs and that of the socket; "
            "nothing was read or sent"
        )


def receive(pipe: Pipe, name: str, kind: type[Answer]) -> Answer:
    """Wait for a message of one kind (``ProtocolError`` for any other)."""
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
    """Wait until the other side says something or ends."""
    with suppress(PipeError):
        pipe.receive()
