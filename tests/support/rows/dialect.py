"""An API that computes rows: a prompt in, and for a variation a row with blanks in it; rows out."""

from __future__ import annotations

from collections.abc import Sequence

from pcevolve.public.media.rows import ROWS

from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, encode_json, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest


class _Answer(Reply):
    rows: list[str]


class RowsDialect(Dialect):
    """``POST /v1/rows``."""

    abilities = ABILITIES["rows"]

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Spell a call."""
        left = None if image is None else ROWS.blank(image, call.strength or 0.0, call.seed)
        asked = plan.prompt_of(call) + ("" if left is None else f"\n{left}")
        fields = {"model": plan.provider.model, "prompt": asked, "n": call.count, "seed": call.seed}
        return WireRequest("POST", "/v1/rows", encode_json(fields))

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """The rows of an answer, as they came."""
        return [each.encode() for each in parse_answer(_Answer, body).rows]
