"""Bits of private pixels in seeds, strengths, sizes and counts; and fields that nobody asked for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

from leaks import secrets
from leaks.attempts import Act, Attempt, at_each
from leaks.world import CREATES, VARIES, World

BITS = int.from_bytes(secrets.pixels().tobytes()[:4], "big")
DIFFERS = "differs from what the plan and the release give"
UNPLANNED = "is not in the public plan"

NUMBERS: dict[str, Mapping[str, object]] = {
    "the seed": {"seed": BITS},
    "the seed's last bit": {"seed": -1},
    "steps": {"steps": 51},
    "guidance": {"guidance": 7.5000001},
    "the count": {"n": 63},
    "no count": {"n": None},
}
SIZES: dict[str, Mapping[str, object]] = {
    "width": {"width": 24},
    "height": {"height": BITS % 4096},
    "a strength where there is none": {"strength": 0.5},
}
STRENGTHS: dict[str, Mapping[str, object]] = {
    "strength": {"strength": 0.8000001},
    "a size where there is none": {"width": 16, "height": 16},
}
EXTRA: dict[str, Mapping[str, object]] = {
    "user": {"user": secrets.PERSON},
    "metadata": {"metadata": {"file": secrets.FILE_NAME}},
    "null": {"tag": None},
    "an empty field": {"": ""},
    "scheduler": {"scheduler": secrets.UNIT},
    "adapter": {"adapter": "style", "scale": BITS / 2**32},
    "a second image": {"image2": secrets.EXIF},
    "a mask": {"mask_image": secrets.encoded(secrets.pixels()).hex()},
}
CALL: dict[str, Mapping[str, object]] = {
    "seed": {"seed": BITS},
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


def _fields(changes: Mapping[str, object]) -> Act:
    return lambda world: world.send_fields(**changes)


def _without(field: str) -> Act:
    def act(world: World) -> object:
        fields = world.fields
        del fields[field]
        return world.send_body(_spelled(fields))

    return act


def _spelled(fields: object) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def _call(changes: Mapping[str, object]) -> Act:
    """The call itself says so, and the request is spelled to match."""

    def act(world: World) -> object:
        call = dataclasses.replace(world.call, **changes)
        label = call.label if call.label in world.run.plan.labels else world.call.label
        request = world.spelled(dataclasses.replace(call, label=label), world.image())
        return world.exchange(request=request, call=call)

    return act


ATTEMPTS: list[Attempt] = [
    *(
        attempt
        for moments, cases in (
            (("create-1", "vary-1", "vary-2", "look-1", "extend"), NUMBERS),
            (CREATES, SIZES),
            (VARIES, STRENGTHS),
        )
        for name, changes in cases.items()
        for attempt in at_each(moments, "numbers", name, _fields(changes), DIFFERS)
    ),
    *(
        attempt
        for name, changes in EXTRA.items()
        for attempt in at_each(
            ("create-2", "vary-1", "look-0"), "extra fields", name, _fields(changes), DIFFERS
        )
    ),
    *(
        attempt
        for field in ("negative_prompt", "steps", "seed", "n", "output_format")
        for attempt in at_each(("create-1", "vary-1"), "missing fields", field, _without(field), DIFFERS)
    ),
    *(
        attempt
        for name, changes in CALL.items()
        for attempt in at_each(
            ("create-1", "vary-2", "look-0", "extend"), "tampered calls", name, _call(changes), UNPLANNED
        )
    ),
]
