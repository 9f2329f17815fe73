"""What an answer on a coordinator's record brought, by the names that the run gave it."""

from __future__ import annotations

from pcevolve.errors import ProtocolError
from pcevolve.public.calls import Call
from pcevolve.public.lineage import Lineage
from pcevolve.public.release import Candidate
from pcevolve.public.transcript.records import Received


def note_received(lineage: Lineage, received: Received) -> tuple[Call, tuple[Candidate, ...]]:
    """Name what a call brought, as the run named it; ``ProtocolError`` for what no call of the plan brings."""
    call = lineage.plan.calls.get(received.slot)
    if call is None or received.slot in lineage.answers or len(received.outputs) != call.count:
        raise ProtocolError("the coordinator's record has an answer that the plan does not ask for")
    source = lineage.source(call)
    parent = None if source is None else source.candidate.id
    made = tuple(
        Candidate(call.output(place), call.label, call.iteration, parent, digest)
        for place, digest in enumerate(received.outputs)
    )
    lineage.note(call, made)
    return call, made
