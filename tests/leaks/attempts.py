"""An attempt, and how to tell whether it was refused."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from leaks.world import World
from pcevolve.errors import ClientError, EgressError

Act = Callable[[World], object]


@dataclass(frozen=True)
class Attempt:
    """One way of getting something out.

    Attributes:
        family: What kind of way it is.
        name: Which one.
        moment: When in the run it is tried.
        act: Tries it.
        reason: What the refusal has to say, as a regular expression.
        error: What it has to be: the gate's error, or that of a value that cannot even be made.
        spoken: Dialect of the run.
        leaves: Requests that leave meanwhile, as they would have without the attempt.
    """

    family: str
    name: str
    moment: str
    act: Act
    reason: str
    error: type[ClientError] = EgressError
    spoken: str = "getimg"
    leaves: int = 0

    def __str__(self) -> str:
        return f"{self.family}: {self.name} ({self.spoken}, {self.moment})"


@dataclass(frozen=True)
class Verdict:
    """Outcome of an attempt.

    Attributes:
        refused: With the expected reason, and without a trace on the wire or on record; or without an effect: what left
            is the honest request, byte for byte.
        said: The error, if there was one.
        left: Requests that left meanwhile.
        recorded: Lines that the transcript gained.
    """

    refused: bool
    said: str
    left: int
    recorded: int


def make_attempt(attempt: Attempt, world: World) -> Verdict:
    """Make the attempt."""
    sent, lines = world.trace
    error = _error_of(attempt, world)
    left, recorded = world.trace[0] - sent, world.trace[1] - lines
    told = isinstance(error, attempt.error) and re.search(attempt.reason, str(error)) is not None
    traceless = left == attempt.leaves and (not recorded or attempt.leaves > 0)
    return Verdict(told and traceless, repr(error), left, recorded)


def attempts(
    family: str,
    moments: str | Iterable[str],
    ways: Mapping[str, Act | tuple[Act, str]],
    reason: str = "",
    error: type[ClientError] = EgressError,
    spoken: str = "getimg",
) -> list[Attempt]:
    """Ways of a family, each at several moments.

    Args:
        family: What kind of way they are.
        moments: Or one.
        ways: By name, an act and the reason why it has to be refused, or the act alone where all have the same one.
        reason: Of all of them.
        error: See ``Attempt``.
        spoken: Dialect of the run.
    """
    return [
        Attempt(family, name, moment, *(way if isinstance(way, tuple) else (way, reason)), error, spoken)
        for name, way in ways.items()
        for moment in ([moments] if isinstance(moments, str) else moments)
    ]


UNPLANNED = "is not in the public plan"
UNCHANGED = "what left is what the plan and the record give"
"""What is raised for an attempt that need not be noticed, because it had no effect."""


class UnchangedError(ClientError):
    """The attempt was not noticed, and had no effect."""


def call(**changes: object) -> Act:
    """The honest call, with something else in it."""
    return lambda world: world.ask(call=dataclasses.replace(world.call, **changes))


def _error_of(attempt: Attempt, world: World) -> Exception | None:
    try:
        attempt.act(world)
    except Exception as error:  # noqa: BLE001 - any error but the expected one is part of the verdict
        return error
    return None
