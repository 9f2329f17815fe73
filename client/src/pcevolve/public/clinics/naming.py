"""Name the results of an answer on a coordinator's record, as the run named them."""

from __future__ import annotations

from pcevolve.errors import ProtocolError
from pcevolve.public.calls import Call
from pcevolve.public.lineage import Lineage
from pcevolve.public.release import Candidate
from pcevolve.public.transcript.records import Received


def note_received(lineage: Lineage, received: Received) -> tuple[Call, tuple[Candidate, ...]]:
    """Name the results of a call, as the run named them; ``ProtocolError`` if no call of the plan has them."""
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
