"""Replicate's predictions: a job is submitted, its state is polled, and it ends with links to images."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from pydantic import Field

from pcevolve.errors import ProviderReplyError, printable
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import JobId, Reply, encode_json, parse_answer, require_same_job
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.siliconflow import encode_data_url

PREDICTIONS: Final = "/v1/predictions"
_GOES_ON: Final = ("starting", "processing")
_LONGEST_WORDS: Final = 200
_Link = Annotated[str, Field(min_length=1, max_length=4096)]


class _Prediction(Reply):
    id: JobId
    # All states of the API are listed: an unknown state could mean that the job is running, or that it is
    # lost.
    status: Literal["starting", "processing", "succeeded", "failed", "canceled", "aborted"]
    output: Annotated[list[_Link], Field(max_length=64)] | _Link | None = None
    error: Any = None

    @property
    def links(self) -> list[str]:
        return [self.output] if isinstance(self.output, str) else self.output or []


class ReplicateDialect(Dialect):
    """A model is ``owner/name`` or ``owner/name:version``, whose inputs are named like Stable Diffusion's."""

    abilities = ABILITIES["replicate"]
    links_images = True
    makes_jobs = True
    currency = "USD"

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Submit a job; an image is sent as a data URL."""
        given: dict[str, Any] = {
            "prompt": plan.prompt_of(call),
            "num_outputs": call.count,
            "seed": call.seed,
            "num_inference_steps": plan.images.steps,
            "guidance_scale": plan.images.guidance,
            "width": plan.images.width,
            "height": plan.images.height,
        }
        if plan.images.negative_prompt:
            given["negative_prompt"] = plan.images.negative_prompt
        if image is not None:
            given["image"] = encode_data_url(image)
        if call.strength is not None:
            given["prompt_strength"] = call.strength
        # Official models have no version and their own address; all others are requested by version.
        name, _, version = plan.provider.model.partition(":")
        if version:
            return WireRequest("POST", PREDICTIONS, encode_json({"version": version, "input": given}))
        return WireRequest("POST", f"/v1/models/{quote(name)}/predictions", encode_json({"input": given}))

    def follow_up(self, plan: PublicPlan, call: Call, answers: Sequence[bytes]) -> WireRequest | None:
        """Request the job's state, at the API's own address rather than an address from an answer."""
        job, last = parse_answer(_Prediction, answers[0]), parse_answer(_Prediction, answers[-1])
        require_same_job(job.id, last.id)
        if last.status in _GOES_ON:
            # Answers contain an address for the state, but a provider could point it at another host.
            return WireRequest("GET", f"{PREDICTIONS}/{job.id}")
        if last.status != "succeeded":
            reason = f": {printable(str(last.error))[:_LONGEST_WORDS]}" if last.error else ""
            raise ProviderReplyError(f"the API reports the status '{last.status}' for a job{reason}")
        return None

    def cancel(self, answers: Sequence[bytes]) -> tuple[WireRequest, ...]:
        """Request the end of a job that may still be running."""
        with suppress(ProviderReplyError):
            job = parse_answer(_Prediction, answers[0])
            ending = WireRequest("POST", f"{PREDICTIONS}/{job.id}/cancel", b"{}")
            try:
                last = parse_answer(_Prediction, answers[-1])
            except ProviderReplyError:
                # The last answer cannot be read, so the job may still run and be billed.
                return (ending,)
            return () if last.id == job.id and last.status not in _GOES_ON else (ending,)
        return ()

    def links(self, call: Call, body: bytes) -> tuple[str, ...]:
        return tuple(parse_answer(_Prediction, body).links[: call.count])

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the files behind the links."""
        return list(linked)

    def hello(self) -> WireRequest:
        """Request the account's owner, which is free and needs the right key."""
        return WireRequest("GET", "/v1/account")
