"""Hostile loops for a real client process: each bends the requests of an otherwise honest run.

The process is a single one, as where a demonstration is run: it has the private images and the network, and nothing but
the gate between them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leaks import secrets
from leaks.world import InTurn, ask_gate, make_unchecked_prototype
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.calls import Call
from pcevolve.public.evolution import Evolved, Watcher, evolve
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, PublicEcho
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.wire import execution
from pcevolve.wire.asking import TellingGenerator
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.policy import Source
from pcevolve.wire.egress.recording import RecordingJudge
from pcevolve.wire.egress.transport import Outgoing
from support.together import bring_together

Given = tuple[Call, Source]
Bend = Callable[["Bent", Call, Source], Given]


def data_of(judge: RecordingJudge) -> PrivateDataset:
    """The owner's images, as any code in the client's process can get at them."""
    inner: Any = judge.judge
    return inner.keeper.components.data


@dataclass(frozen=True)
class Bent(InTurn):
    """A generator that changes what passes it on its way to the gate.

    Attributes:
        honest: The real one, which tells the keeper what came.
        plan: The loop's.
        judge: Holds the private images.
        purpose: Of the calls that are bent.
        bend: Changes call or source, or what is stored.
    """

    honest: TellingGenerator
    plan: PublicPlan
    judge: RecordingJudge
    purpose: str
    bend: Bend

    def create(self, call: Call) -> tuple[Candidate, ...]:
        return self._answer(call, None)

    def vary(self, call: Call, source: Source) -> tuple[Candidate, ...]:
        return self._answer(call, source)

    def _answer(self, call: Call, source: Source) -> Any:
        if call.purpose == self.purpose:
            return ask_gate(self.gate, *self.bend(self, call, source))
        (made,) = self.honest.answers([(call, source)])
        return made

    @property
    def gate(self) -> Gate:
        """Where each request leaves, or does not."""
        gate: Any = self.honest.generator
        return gate

    @property
    def bodies(self) -> Bodies:
        """Where received images are kept."""
        return self.gate._transcript.bodies

    def private(self) -> bytes:
        """One of the owner's images."""
        return secrets.list_encodings(np.asarray(data_of(self.judge).items[0]))

    def file_name(self) -> str:
        """The name of one of the owner's files."""
        return data_of(self.judge).names[0]


def _find_stored_pixels(bent: Bent, call: Call, source: Source) -> Given:
    """The private image is put where received ones are kept, and sent under a received one's name."""
    fake = dataclasses.replace(source.candidate, digest=bent.bodies.keep(bent.private()))
    return call, make_unchecked_prototype(fake, source.receipt)


def _overwrite(bent: Bent, call: Call, source: Source) -> Given:
    """The private image is put in the place of a received one, which the loop then asks for."""
    path = bent.bodies.folder / source.candidate.digest
    path.write_bytes(bent.private())
    return call, source


def _attach(bent: Bent, call: Call, source: Source) -> Given:
    """Text-to-image is said to vary the private image."""
    made = Candidate.received(call, 0, None, bent.private())
    bent.bodies.keep(bent.private())
    return call, PublicEcho(made)


def _label(bent: Bent, call: Call, source: Source) -> Given:
    return dataclasses.replace(call, label=f"{call.label} {bent.file_name()}"), source


def _slot(bent: Bent, call: Call, source: Source) -> Given:
    return dataclasses.replace(call, slot=f"{call.slot}?{bent.file_name()}"), source


def _seed(bent: Bent, call: Call, source: Source) -> Given:
    bits = int.from_bytes(data_of(bent.judge).items[0].tobytes()[:4], "big")
    return dataclasses.replace(call, seed=bits), source


def _unit(bent: Bent, call: Call, source: Source) -> Given:
    fake = dataclasses.replace(source.candidate, parent=secrets.UNIT)
    return call, make_unchecked_prototype(fake, source.receipt)


def _order(bent: Bent, call: Call, source: Source) -> Given:
    """One bit of a private pixel as the choice of what is varied first; the opening is asked before any loop begins."""
    calls = list(bent.plan.calls.values())
    return calls[calls.index(call) + 1], source


def _unchosen(bent: Bent, call: Call, source: Source) -> Given:
    """A bit in the choice between two images that the provider made itself."""
    others = (path for path in bent.bodies.folder.iterdir() if path.name != source.candidate.digest)
    other = next(path for path in others if path.read_bytes().startswith(b"\x89PNG"))
    fake = dataclasses.replace(source.candidate, digest=other.name)
    return call, make_unchecked_prototype(fake, source.receipt)


@dataclass(frozen=True)
class Bending:
    """A bend, and how the run has to end.

    Attributes:
        purpose: Of the calls that are bent.
        bend: Changes what is asked.
        code: Exit code.
        said: What the owner is told.
    """

    purpose: str
    bend: Bend
    said: str
    code: int = 5


BENDS: dict[str, Bending] = {
    "private pixels in a stored file": Bending("vary", _overwrite, "was changed", 7),
    "private pixels in a candidate": Bending("vary", _find_stored_pixels, "is not what the API sent"),
    "private pixels with a text prompt": Bending("create", _attach, "must carry no image"),
    "an image that no release chose": Bending("vary", _unchosen, "is not what the API sent"),
    "a file name in a label": Bending("create", _label, "not in the public plan"),
    "a file name in a slot": Bending("create", _slot, "not in the public plan"),
    "pixels in a seed": Bending("create", _seed, "not in the public plan"),
    "a unit as a candidate's parent": Bending("vary", _unit, "is not what the API sent"),
    "a bit in the order": Bending("vary", _order, "is out of order"),
}


def bent(
    name: str, plan: PublicPlan, generator: TellingGenerator, judge: RecordingJudge, watcher: Watcher
) -> Evolved:
    """``evolve``, but one kind of request is bent."""
    bending = BENDS[name]
    return evolve(
        plan, Bent(generator, plan, judge, bending.purpose, bending.bend), judge, watcher, identify=str
    )


def stopping(
    plan: PublicPlan, generator: TellingGenerator, judge: RecordingJudge, watcher: Watcher
) -> Evolved:
    """Ends before the plan does: a bit in the number of requests."""
    made = dict.fromkeys(plan.labels, ())
    return Evolved((made,), made, (), {})


def crashing(
    plan: PublicPlan, generator: TellingGenerator, judge: RecordingJudge, watcher: Watcher
) -> Evolved:
    """Breaks down in the middle, with private things in its last words."""
    for _ in generator.answers([(call, None) for call in plan.round(0)]):
        pass
    raise ValueError(f"cannot embed {data_of(judge).names[0]}: {data_of(judge).items[0].tobytes().hex()}")


def leaking(
    plan: PublicPlan, generator: TellingGenerator, judge: RecordingJudge, watcher: Watcher
) -> Evolved:
    """Goes around the gate."""
    gate: Any = generator.generator
    gate._exchange.transport.send(
        Outgoing("POST", plan.provider.api + "/", (("Content-Length", "48"),), _row(judge))
    )
    raise KeyboardInterrupt


def _row(judge: RecordingJudge) -> bytes:
    return data_of(judge).items[0].tobytes()[:48]


LOOPS: dict[str, Callable[..., Evolved]] = {
    **{name: partial(bent, name) for name in BENDS},
    "stopping": stopping,
    "crashing": crashing,
    "leaking": leaking,
}


def replace(name: str) -> None:
    """Put a hostile loop in the place of the honest one, in a process that has not yet begun its command."""
    loop = LOOPS[name]

    def evolve_by(
        plan: PublicPlan,
        generator: Any,
        judge: RecordingJudge,
        watcher: Watcher,
        *rules: Callable[..., object],
    ) -> Evolved:
        return loop(plan, generator, judge, watcher)

    execution.evolve = evolve_by
    bring_together()
