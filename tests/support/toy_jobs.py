"""A dialect of jobs in ten minutes more: how to ask what became of one, beside a line in the table of dialects."""

from __future__ import annotations

from collections.abc import Sequence

from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import JobId, Reply, decode_images, encode_json, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest


class _Job(Reply):
    id: JobId
    pictures: tuple[str, ...] = ()


class ToyJobsDialect(Dialect):
    """``POST /jobs``, and ``GET /jobs/ID`` until there are pictures."""

    abilities = ABILITIES["toy-jobs"]
    makes_jobs = True

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Submit a call."""
        fields = {"words": plan.prompt_of(call), "count": call.count, "seed": call.seed}
        return WireRequest("POST", "/jobs", encode_json(fields))

    def follow_up(self, plan: PublicPlan, call: Call, answers: Sequence[bytes]) -> WireRequest | None:
        """Ask for the pictures, as long as there are none."""
        job = parse_answer(_Job, answers[0])
        return None if parse_answer(_Job, answers[-1]).pictures else WireRequest("GET", f"/jobs/{job.id}")

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """The pictures of a job."""
        return decode_images(parse_answer(_Job, body).pictures)
