"""Private images put where the transcript keeps received ones."""

from __future__ import annotations

from collections.abc import Callable

from leaks import secrets
from leaks.attempts import Act, Attempt
from leaks.families.images import FORGED
from leaks.world import World
from pcevolve.errors import TranscriptError

MOMENTS = ("vary-1", "vary-2", "look-0", "extend")


def _overwritten(forge: Callable[[bytes], bytes]) -> Act:
    """The file of the very image that may leave, with other content."""

    def act(world: World) -> object:
        path = world.run.transcript.bodies.folder / world.candidate.digest
        forged = forge(path.read_bytes())
        path.write_bytes(forged)
        world.spoilt = True
        return world.send_image(forged, world.source)

    return act


def _honest_request(world: World) -> object:
    """The same, but the loop has noticed nothing."""
    path = world.run.transcript.bodies.folder / world.candidate.digest
    world.spoilt = True
    path.write_bytes(secrets.encoded(secrets.pixels()))
    return world.exchange()


def _removed(world: World) -> object:
    world.spoilt = True
    (world.run.transcript.bodies.folder / world.candidate.digest).unlink()
    return world.exchange()


ATTEMPTS: list[Attempt] = [
    *(
        Attempt("files", f"overwritten: {name}", moment, _overwritten(forge), "was changed", TranscriptError)
        for name, forge in FORGED.items()
        for moment in ("vary-1", "look-1")
    ),
    *(
        Attempt("files", "overwritten unnoticed", moment, _honest_request, "was changed", TranscriptError)
        for moment in MOMENTS
    ),
    *(Attempt("files", "removed", moment, _removed, "cannot be read", TranscriptError) for moment in MOMENTS),
]
