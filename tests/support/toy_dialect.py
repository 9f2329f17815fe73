"""A dialect of ten minutes' work: all that a new one takes is a file like this and a line in the table of dialects."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, decode_images, encode_json, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest


class _Answer(Reply):
    pictures: list[str]


class ToyDialect(Dialect):
    """``POST /paint``, with a picture where one is varied."""

    abilities = ABILITIES["toy"]

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Spell a call."""
        fields = {"words": plan.prompt_of(call), "count": call.count, "seed": call.seed}
        given = {} if image is None else {"picture": base64.b64encode(image).decode()}
        return WireRequest("POST", "/paint", encode_json({**fields, **given}))

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """The pictures of an answer."""
        return decode_images(parse_answer(_Answer, body).pictures)
