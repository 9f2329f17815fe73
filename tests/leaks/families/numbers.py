"""Bits of private pixels in seeds, strengths, sizes and counts; and fields that nobody asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each, behind_its_back
from leaks.families.words import OTHER_PLAN, UNPLANNED, begun
from leaks.world import CALLS, World

BITS = int.from_bytes(secrets.pixels().tobytes()[:4], "big")

PLANS: dict[str, Mapping[str, object]] = {
    "the seed": {"run_seed": BITS},
    "steps": {"steps": 51},
    "guidance": {"guidance": 7.5000001},
    "width": {"width": 24},
    "height": {"height": 8 + BITS % 4000},
    "the batch": {"batch": 1},
    "strengths": {"strengths": (0.8000001, 0.78)},
}
CALL: dict[str, Mapping[str, object]] = {
    "seed": {"seed": BITS},
    "the seed's last bit": {"seed": -1},
    "count": {"count": 63},
    "label": {"label": secrets.PERSON},
    "first image": {"first": BITS},
    "iteration": {"iteration": 9},
    "slot": {"slot": f"i000/c000/{secrets.UNIT}"},
    "source": {"source": secrets.UNIT},
    "parent": {"parent": 7},
    "strength": {"strength": 0.123456},
    "purpose": {"purpose": "reveal"},
}


def _call(changes: Mapping[str, object]) -> Act:
    """The call itself says so."""
    return lambda world: world.ask(call=dataclasses.replace(world.call, **changes))


def _extra(of: str) -> Act:
    """A field more than the type has."""

    def change(world: World) -> None:
        value = {"call": world.call, "source": world.source, "plan": world.run.plan}[of]
        value.__dict__["user"] = secrets.PERSON
        value.__dict__["image"] = secrets.encoded(secrets.pixels())

    return change


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for name, changes in PLANS.items()
        for attempt in at_each(
            ("create-1", "vary-1", "extend"),
            "numbers",
            f"{name}, in another plan",
            begun(**changes),
            OTHER_PLAN,
        )
    ),
    *(
        attempt
        for of, moments in (
            ("call", ("create-2", "vary-1", "look-0")),
            ("source", ("vary-1", "look-0")),
            ("plan", ("create-2", "vary-1", "look-0")),
        )
        for attempt in behind_its_back("extra fields", f"of a {of}", moments, _extra(of))
    ),
    *(
        attempt
        for name, changes in CALL.items()
        for attempt in at_each(CALLS, "tampered calls", name, _call(changes), UNPLANNED)
    ),
]
