"""Private images put where the transcript keeps received ones."""

from __future__ import annotations

from collections.abc import Callable

from leaks.attempts import Act, Attempt
from leaks.families.images import FORGED
from leaks.world import World
from pcevolve.errors import TranscriptError

MOMENTS = ("vary-1", "vary-2", "look-0", "extend")


def overwritten(forge: Callable[[bytes], bytes]) -> Act:
    """The file of the very image that may leave, with other content; the loop asks as an honest one does."""

    def act(world: World) -> object:
        path = world.run.transcript.bodies.folder / world.candidate.digest
        world.spoilt = True
        path.write_bytes(forge(path.read_bytes()))
        return world.ask()

    return act


def _exchanged(world: World) -> object:
    """Two received images change places: a bit in which of them leaves."""
    bodies = world.run.transcript.bodies
    other = next(each for each in world.of_class(world.call.label) if each.digest != world.candidate.digest)
    world.spoilt = True
    (bodies.folder / world.candidate.digest).write_bytes(bodies.file(other.digest))
    return world.ask()


def _removed(world: World) -> object:
    world.spoilt = True
    (world.run.transcript.bodies.folder / world.candidate.digest).unlink()
    return world.ask()


ATTEMPTS: list[Attempt] = [
    *(
        Attempt("files", f"overwritten: {name}", moment, overwritten(forge), "was changed", TranscriptError)
        for name, forge in FORGED.items()
        for moment in ("vary-1", "look-1")
    ),
    *(
        Attempt("files", "another received image", moment, _exchanged, "was changed", TranscriptError)
        for moment in MOMENTS
    ),
    *(Attempt("files", "removed", moment, _removed, "cannot be read", TranscriptError) for moment in MOMENTS),
]
