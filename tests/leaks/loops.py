"""Hostile loops for a real client process: each bends the requests of an otherwise honest run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leaks import secrets
from leaks.families.images import unchecked_prototype
from pcevolve.egress.paced import PacedJudge
from pcevolve.egress.policy import Source
from pcevolve.egress.transport import Outgoing
from pcevolve.evolve import Evolved, Watcher, evolve
from pcevolve.private.dataset import PrivateDataset
from pcevolve.providers.dialect import WireRequest
from pcevolve.providers.remote import RemoteGenerator
from pcevolve.public.plan import Call, PublicPlan
from pcevolve.public.release import Candidate, PublicPrompt
from pcevolve.run import execution

Given = tuple[WireRequest, Call, Source]
Bend = Callable[["Bent", WireRequest, Call, Source], Given]


def data_of(judge: PacedJudge) -> PrivateDataset:
    """The owner's images, as any code in the client's process can get at them."""
    inner: Any = judge.judge
    return inner.views.data


@dataclass(frozen=True)
class Bent:
    """A channel that changes what passes it.

    Attributes:
        generator: The honest one, whose channel is the gate.
        judge: Holds the private images.
        purpose: Of the calls that are bent.
        bend: Changes request, call or source.
    """

    generator: RemoteGenerator
    judge: PacedJudge
    purpose: str
    bend: Bend

    def exchange(self, request: WireRequest, call: Call, source: Source) -> tuple[Candidate, ...]:
        given = (request, call, source)
        return self.generator.channel.exchange(
            *(self.bend(self, *given) if call.purpose == self.purpose else given)
        )

    def spelled(self, call: Call, image: bytes | None, words: str = "") -> WireRequest:
        plan = self.generator.plan
        prompt = PublicPrompt(plan.prompt(call.label) + words, plan.negative_prompt)
        return self.generator.dialect.encode(plan, call, prompt, image)

    def private(self) -> bytes:
        """One of the owner's images."""
        return secrets.encoded(np.asarray(data_of(self.judge).images[0]))


def _fields(**changes: object) -> Bend:
    def bend(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
        body = json.dumps({**json.loads(request.body), **changes}, ensure_ascii=False, separators=(",", ":"))
        return dataclasses.replace(request, body=body.encode()), call, source

    return bend


def _pixels(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    return bent.spelled(call, bent.private()), call, source


def _stored_pixels(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    """The private image is put where received ones are kept, and sent under a received one's name."""
    bodies = bent.generator.received.__self__
    fake = dataclasses.replace(source.candidate, digest=bodies.keep(bent.private()))
    return bent.spelled(call, bent.private()), call, unchecked_prototype(fake, source.receipt)


def _name(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    return bent.spelled(call, None, " " + data_of(bent.judge).names[0]), call, source


def _path(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    return dataclasses.replace(request, path=request.path + "?" + data_of(bent.judge).names[0]), call, source


def _seed(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    bits = int.from_bytes(data_of(bent.judge).images[0].tobytes()[:4], "big")
    changed = dataclasses.replace(call, seed=bits)
    return bent.spelled(changed, None), changed, source


def _plan(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    bent.generator.plan.__dict__["domain"] = data_of(bent.judge).names[0]
    return bent.spelled(call, None), call, source


def _spelling(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    """One bit of a private pixel as a space at the end."""
    return dataclasses.replace(request, body=request.body + b" "), call, source


def _unchosen(bent: Bent, request: WireRequest, call: Call, source: Source) -> Given:
    """A bit in the choice between two images that the provider made itself."""
    bodies = bent.generator.received.__self__
    others = (path for path in bodies.folder.iterdir() if path.name != source.candidate.digest)
    other = next(path for path in others if path.read_bytes().startswith(b"\x89PNG"))
    fake = dataclasses.replace(source.candidate, digest=other.name)
    return bent.spelled(call, other.read_bytes()), call, unchecked_prototype(fake, source.receipt)


BENDS: dict[str, tuple[str, Bend, str]] = {
    "private pixels in a body": ("vary", _pixels, "differs from what"),
    "private pixels in a candidate": ("vary", _stored_pixels, "names another candidate"),
    "an image that no release chose": ("vary", _unchosen, "names another candidate"),
    "a file name in a prompt": ("create", _name, "differs from what"),
    "a file name in a query": ("create", _path, "differs from what"),
    "a file name in the plan": ("create", _plan, "differs from what"),
    "pixels in a seed": ("create", _seed, "not in the public plan"),
    "a unit in an extra field": ("create", _fields(user=secrets.UNIT), "differs from what"),
    "a bit in the spelling": ("vary", _spelling, "differs from what"),
}


def bent(
    name: str, plan: PublicPlan, generator: RemoteGenerator, judge: PacedJudge, watcher: Watcher
) -> Evolved:
    """``evolve``, but one kind of request is bent."""
    purpose, bend, _ = BENDS[name]
    channel = Bent(generator, judge, purpose, bend)
    return evolve(plan, dataclasses.replace(generator, channel=channel), judge, watcher)


def stopping(plan: PublicPlan, generator: RemoteGenerator, judge: PacedJudge, watcher: Watcher) -> Evolved:
    """Ends before the plan does: a bit in the number of requests."""
    made = dict.fromkeys(plan.labels, ())
    return Evolved((made,), made, ())


def crashing(plan: PublicPlan, generator: RemoteGenerator, judge: PacedJudge, watcher: Watcher) -> Evolved:
    """Breaks down in the middle, with private things in its last words."""
    for call in plan.round(0):
        generator.create(call, PublicPrompt.of(plan, call.label))
    raise ValueError(f"cannot embed {data_of(judge).names[0]}: {data_of(judge).images[0].tobytes().hex()}")


def leaking(plan: PublicPlan, generator: RemoteGenerator, judge: PacedJudge, watcher: Watcher) -> Evolved:
    """Goes around the gate."""
    channel: Any = generator.channel
    channel._transport.send(Outgoing("POST", plan.api + "/", (("Content-Length", "48"),), _row(judge)))
    raise KeyboardInterrupt


def _row(judge: PacedJudge) -> bytes:
    return data_of(judge).images[0].tobytes()[:48]


LOOPS: dict[str, Callable[..., Evolved]] = {
    **{name: partial(bent, name) for name in BENDS},
    "stopping": stopping,
    "crashing": crashing,
    "leaking": leaking,
}


def replace(name: str) -> None:
    """Put a hostile loop in the place of the honest one, in a process that has not yet begun its command."""
    execution.evolve = LOOPS[name]
