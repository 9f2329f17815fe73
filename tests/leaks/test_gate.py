"""Whatever a loop, a method or a judge hands the gate: nothing leaves but what plan and release give."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from leaks.attempts import Attempt, make_attempt
from leaks.corpus import CORPUS
from leaks.families.contents import IMAGES, Forge
from leaks.world import CALLS, WAYS, Count, World, WorldAt
from pcevolve.wire.providers import DIALECTS


def _of_images(attempt: Attempt) -> bool:
    """True if it is about images that go back, or makes a plan that a plan without them cannot be."""
    plans = ("another plan's prompts", "another plan's adapter", "strengths, in another plan")
    return attempt.family in ("files", "files of texts") or attempt.name in plans


def _fits_texts(attempt: Attempt) -> bool:
    """True if it is no change to pixels, and says nothing of how images are asked for."""
    pixels = any(name in attempt.name for name, forge in IMAGES.items() if not _is_blind(forge))
    settings = ("steps", "guidance", "width", "height", "a plan's negative_prompt", "another plan's")
    return attempt.spoken == "getimg" and not pixels and not any(each in attempt.name for each in settings)


@cache
def _is_blind(forge: Forge) -> bool:
    """True if it makes something of any bytes, an image or not."""
    try:
        forge(b"a text")
    except OSError:
        return False
    return True


KINDS: dict[str, tuple[str | None, str, Iterable[Attempt]]] = {
    "images": (None, "images", CORPUS),
    "prompts": (None, "prompts", (each for each in CORPUS if not _of_images(each))),
    "texts": ("chat", "images", (each for each in CORPUS if _fits_texts(each))),
}
"""Of runs, by what goes back in them: the dialect, if there is but one, the way, and what is tried."""


@pytest.mark.parametrize(
    ("kind", "attempt"),
    [(kind, attempt) for kind, (*_, attempts) in KINDS.items() for attempt in attempts],
    ids=str,
)
def test_it_does_not_leave(kind: str, attempt: Attempt, world_at: WorldAt, count: Count):
    spoken, way, _ = KINDS[kind]
    world = world_at(attempt.moment, spoken or attempt.spoken, way)
    verdict = make_attempt(attempt, world)
    world.spoilt |= not verdict.refused
    count(attempt.family, verdict.refused, verdict)


def test_there_are_at_least_two_hundred_different_attempts():
    assert len({str(each) for each in CORPUS}) == len(CORPUS) >= 200


def test_every_attempt_says_why_it_must_fail():
    assert all(len(each.reason) > 4 for each in CORPUS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", CALLS)
def test_what_the_honest_loop_sends_at_that_moment_does_leave(moment: str, way: str, folder: Path):
    world = World.at(moment, folder, way=way)
    honest = Attempt("honest", "the plan's own request", moment, lambda world: world.ask(), ".")
    verdict = make_attempt(honest, world)
    assert (verdict.said, verdict.left) == ("None", 1)
    assert world.provider.requests[-1] == world.due


@pytest.mark.parametrize("spoken", sorted(DIALECTS))
def test_what_the_honest_loop_sends_in_that_dialect_does_leave(spoken: str, folder: Path):
    world = World.at("create-1", folder, spoken)
    before = len(world.provider.requests)
    make_attempt(Attempt("honest", "", "create-1", lambda world: world.ask(), ".", spoken=spoken), world)
    assert world.provider.requests[before] == world.due
