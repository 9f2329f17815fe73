"""A second, small check of what was sent, which shares no code with rules, gate, loop or dialects.

Every image that was sent must have come from the API before, and must be named by the public plan or by the receipt
of its class and round. Images of the release that the plan starts from are allowed too. Texts are sent back inside a
prompt, with some words blank by a public rule. The rerun compares everything else byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pcevolve.public.answers import strip_mark
from pcevolve.public.calls import Call
from pcevolve.public.media import find_medium
from pcevolve.public.media.answering import read_answer
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import WITHHELD, Candidate, Receipt, list_start
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Received, RecordedRelease, Sent


class Unexplained(Exception):  # noqa: N818 - it never leaves this module
    """A request carries something without a reason; the message describes it."""


def find_request_faults(run: RunReader) -> Iterator[str]:
    """Yield each request that carries an image without a reason. Another check covers the integrity of bodies."""
    if run.plan is None:
        return
    seen = _Seen(run, run.plan)
    for line, entry in enumerate(run.entries, 1):
        match entry.record:
            case Answered() as answer:
                seen.arrived.update(_list_digests(answer, run.bodies))
            case Received(slot=slot, outputs=outputs):
                if fault := seen.note(slot, outputs):
                    yield f"answer {slot} (line {line}): {fault}"
            case RecordedRelease(receipt=receipt):
                seen.receipts[receipt.iteration] = receipt
            case Sent() as sent:
                try:
                    seen.explain(sent)
                except Unexplained as error:
                    yield f"request {sent.slot} (line {line}): {error}"


@dataclass
class _Seen:
    """Everything that had crossed the wire before a line: digests of all outputs, and candidates by id."""

    run: RunReader
    plan: PublicPlan
    arrived: set[str] = field(default_factory=lambda: {WITHHELD})
    known: dict[str, Candidate] = field(default_factory=dict)
    receipts: dict[int, Receipt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in chain(*list_start(self.plan).values()):
            self.known[each.id] = each
            self.arrived.add(each.digest)

    def note(self, slot: str, outputs: tuple[str, ...]) -> str:
        """Register the outputs of a call, and return their fault; empty if there is none."""
        call = self.plan.calls.get(slot)
        if call is None:
            return "is of no call of the plan"
        for name, digest in zip(map(call.output, range(len(outputs))), outputs, strict=True):
            # The first line with an id counts, so that no later line can replace the reason for an earlier request.
            self.known.setdefault(name, Candidate(name, call.label, call.iteration, None, digest))
        return "" if self.arrived.issuperset(outputs) else "names an output that had not come"

    def explain(self, sent: Sent) -> None:
        """Find the reason for the image that a request carries or must carry (``Unexplained`` if there is none)."""
        call, inline = self.plan.calls.get(sent.slot), self.plan.modality.sends_inline
        due = None if call is None or call.purpose == "create" else self._find_image_to_vary(call)
        leaves = due if due is not None and not self.plan.varies_prompts else None
        if sent.body.files != (() if leaves is None or inline else (leaves.digest,)):
            raise Unexplained("carries an image that neither the plan nor its receipt names")
        if inline and call is not None and leaves is not None:
            left = find_medium(self.plan.modality.kind).blank(
                self.run.bodies.file(leaves.digest), call.strength or 0.0, call.seed
            )
            texts = _walk(json.loads(self.run.bodies.get(sent.body)))
            if left is not None and not any(each.endswith(f"\n{left}") for each in texts):
                raise Unexplained("carries a text that neither the plan nor its receipt names")

    def _find_image_to_vary(self, call: Call) -> Candidate:
        receipt = self.receipts.get(call.iteration)
        if call.source is None:
            chosen = () if receipt is None or receipt.run_id != self.plan.run_id else receipt.of(call.label)
            if call.parent is None or call.parent >= len(chosen):
                raise Unexplained("varies what no receipt of its class and round chose")
            named, digest = chosen[call.parent].id, chosen[call.parent].digest
        else:
            named, digest = call.source, None
        known = self.known.get(named)
        if known is None or known.digest not in self.arrived or digest not in (None, known.digest):
            # Check digest and arrival: a receipt may name an image that never arrived, or give its id to other bytes.
            raise Unexplained("varies what had not come from the API")
        if known.label != call.label or (digest is not None and known.iteration >= call.iteration):
            raise Unexplained("varies an image of another class, or of no earlier round")
        return known


def _list_digests(answer: Answered, bodies: Bodies) -> Iterator[str]:
    """Yield the digests of all possible outputs of an answer: separately stored files, base64 images, and texts."""
    yield from answer.body.files
    text = answer.body.text
    with suppress(ValueError, RecursionError):  # the body is an image, or not JSON that any dialect reads
        for each in ("", *_walk(json.loads(strip_mark(text.encode() if text else bodies.get(answer.body))))):
            yield hashlib.sha256(each.encode("utf-8", "surrogatepass")).hexdigest()
            # APIs use several spellings of base64: some wrap lines, or omit the padding. All other strings are texts.
            plain = "".join(each.rpartition(",")[2].split()).rstrip("=").replace("-", "+").replace("_", "/")
            with suppress(ValueError):
                data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
                yield hashlib.sha256(data).hexdigest()


def _walk(value: Any) -> Iterator[str]:  # noqa: ANN401 - what JSON has
    """Yield all strings in a JSON value, and a language model's texts without its thinking."""
    left = [value]
    while left:  # no recursion, because the provider chooses the depth of nesting
        each = left.pop()
        left.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        if isinstance(each, dict) and "content" in each:
            yield read_answer(each["content"])
        elif isinstance(each, str):
            yield each
