"""ComfyUI: the owner's exported workflow is queued as a job, whose images are on the same server."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from pydantic import ConfigDict, Field, RootModel

from pcevolve.errors import ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.config import workflow
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import JobId, Reply, encode_form, encode_json, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest

PROMPT: Final = "/prompt"
UPLOAD: Final = "/upload/image"
# A typical workflow has some dozens of nodes; the limit keeps an answer from filling memory.
_MOST_NODES: Final = 1000
_FULL_STRENGTH: Final = 1.0
"""Strength at which nothing is left of the workflow's own image."""


class _Uploaded(Reply):
    name: Annotated[str, Field(pattern=r"^pcevolve-[0-9a-f]{32}( \([0-9]{1,4}\))?\.(png|jpg|webp|bin)$")]
    # Only the requested name, or that name with a counter, because the answer is written into the next
    # request.
    subfolder: Literal[""] = ""
    type: Literal["input"] = "input"


class _Queued(Reply):
    prompt_id: JobId


class _File(Reply):
    # No slash: the name becomes part of an address, and must not address another operation.
    filename: Annotated[str, Field(pattern=r"^[\w .()-]{1,200}$")]
    subfolder: Annotated[str, Field(pattern=r"^[\w ./()-]{0,200}$")] = ""
    type: Literal["output", "temp"] = "output"


class _Node(Reply):
    images: Annotated[list[_File], Field(max_length=_MOST_NODES)] = []  # noqa: RUF012 - pydantic copies it


class _Status(Reply):
    status_str: Annotated[str, Field(max_length=40)] = "success"
    completed: bool = True


class _Entry(Reply):
    outputs: Annotated[dict[str, _Node], Field(max_length=_MOST_NODES)]
    status: _Status | None = None


# One entry, because the history of one job was requested.
class _History(RootModel[Annotated[dict[str, _Entry], Field(max_length=1)]]):
    model_config = ConfigDict(hide_input_in_errors=True)


class ComfyUIDialect(Dialect):
    """A workflow varies the uploaded image; text-to-image is full strength on the workflow's own image.

    In older versions of ComfyUI, ``/interrupt`` takes no job name, and ends whatever is running.
    """

    abilities = ABILITIES["comfyui"]
    makes_jobs = True
    links_images = True
    unknown = "--api must be the address of ComfyUI itself, such as http://127.0.0.1:8188"

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Queue the workflow; for a variation, upload the image first."""
        if image is None:
            return self._queue(plan, call, {"strength": _FULL_STRENGTH})
        # Named by its content, so that two variations cannot use each other's image.
        name = f"pcevolve-{hashlib.sha256(image).hexdigest()[:32]}"
        # Overwriting is harmless, because the name is the content's digest; it avoids a renamed copy at each
        # retry.
        kind, body = encode_form({"type": "input", "overwrite": "true"}, image, name)
        return WireRequest("POST", UPLOAD, body, kind)

    def follow_up(self, plan: PublicPlan, call: Call, answers: Sequence[bytes]) -> WireRequest | None:
        """Queue the workflow for an uploaded image, and request its history until the job has ended."""
        # A variation begins with an upload, so its job is named in the second answer.
        queued = int(call.purpose != "create" and not plan.varies_prompts)
        if len(answers) == queued:
            uploaded = parse_answer(_Uploaded, answers[0])
            return self._queue(plan, call, {"image": uploaded.name, "strength": call.strength})
        job = parse_answer(_Queued, answers[queued]).prompt_id
        # The queue's answer is not a history, so request the history at least once.
        history = {} if len(answers) == queued + 1 else parse_answer(_History, answers[-1]).root
        if not history:
            return WireRequest("GET", f"/history/{job}")
        if job not in history:
            raise ProviderReplyError("the API answered about a different job")
        # Older versions report no status: an entry in the history then means that the job has ended.
        status = history[job].status or _Status()
        if status.status_str != "success":
            raise ProviderReplyError("the API reports that a job failed")
        return None if status.completed else WireRequest("GET", f"/history/{job}")

    def cancel(self, answers: Sequence[bytes]) -> tuple[WireRequest, ...]:
        """Remove a job from the queue, or interrupt it if it is running."""
        # The first answer of a variation is the upload's, which contains no ``prompt_id``.
        for each in answers[:2]:
            with suppress(ProviderReplyError):
                job = parse_answer(_Queued, each).prompt_id
                if self._is_over(job, answers[-1]):
                    return ()
                return (
                    # Both, in this order, because a job may start between the two requests.
                    WireRequest("POST", "/queue", encode_json({"delete": [job]})),
                    WireRequest("POST", "/interrupt", encode_json({"prompt_id": job})),
                )
        return ()

    def links(self, call: Call, body: bytes) -> tuple[WireRequest, ...]:
        """Request the images that the workflow saved; if it saved none, those that it previewed."""
        found = [
            each
            for entry in parse_answer(_History, body).root.values()
            for node in entry.outputs.values()
            for each in node.images
        ]
        # A preview node shows images that the workflow changes further; saved images are its result.
        saved = [each for each in found if each.type == "output"]
        return tuple(
            WireRequest("GET", f"/view?{urlencode(dict(each))}", accept="image/*")
            for each in (saved or found)[: call.count]
        )

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the image files named in the job's history."""
        return list(linked)

    def hello(self) -> WireRequest:
        """Request information about the system, which is free."""
        return WireRequest("GET", "/system_stats")

    def _queue(self, plan: PublicPlan, call: Call, more: dict[str, object]) -> WireRequest:
        values = {"prompt": plan.prompt_of(call), "seed": call.seed, **more}
        return WireRequest(
            "POST", PROMPT, encode_json({"prompt": workflow.fill(plan.provider.workflow, values)})
        )

    def _is_over(self, job: str, last: bytes) -> bool:
        try:
            entry = parse_answer(_History, last).root.get(job)
        except ProviderReplyError:
            return False
        return entry is not None and (
            entry.status is None or entry.status.completed or entry.status.status_str != "success"
        )
