"""What an attempt is, and how to tell whether it was refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from leaks.world import World
from pcevolve.errors import ClientError, EgressError, ProviderError

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
    """What became of an attempt.

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


def tried(attempt: Attempt, world: World) -> Verdict:
    """Make the attempt."""
    sent, lines = world.trace
    error = _error_of(attempt, world)
    left, recorded = world.trace[0] - sent, world.trace[1] - lines
    told = isinstance(error, attempt.error) and re.search(attempt.reason, str(error)) is not None
    traceless = left == attempt.leaves and (not recorded or attempt.leaves > 0)
    return Verdict(told and traceless, repr(error), left, recorded)


def at_each(moments: Iterable[str], family: str, name: str, act: Act, reason: str) -> list[Attempt]:
    """The same way at several moments."""
    return [Attempt(family, name, moment, act, reason) for moment in moments]


UNCHANGED = "what left is what the plan and the record give"


class UnchangedError(ClientError):
    """The attempt was not noticed, and had no effect."""


def behind_its_back(
    family: str, name: str, moments: Iterable[str], change: Act, spoken: str = "getimg"
) -> list[Attempt]:
    """Something that the gate was given is changed afterwards, and the honest call is asked for.

    The gate need not notice: it has copies of its own, so exactly the honest request leaves.
    """

    def act(world: World) -> NoReturn:
        world.spoilt = True
        change(world)
        with suppress(ProviderError, LookupError, ValueError):  # the fake provider may not speak the dialect
            world.ask()
        assert world.provider.requests[-1] == world.due, "another request left"
        raise UnchangedError(UNCHANGED)

    return [Attempt(family, name, each, act, UNCHANGED, UnchangedError, spoken, leaves=1) for each in moments]


def _error_of(attempt: Attempt, world: World) -> Exception | None:
    try:
        attempt.act(world)
    except Exception as error:  # noqa: BLE001 - any error but the expected one is part of the verdict
        return error
    return None
