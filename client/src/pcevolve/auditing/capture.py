"""Compare a transcript with what an independent recorder between client and API saw.

Everything sent must be recorded, and everything recorded must have been sent. Requests are compared in order
(those in flight at once may reach a recorder in any order) and in full: method, target, version, each header
with its spelling and place, and the SHA-256 of the exact body. Answers are compared likewise. The audit
itself checks the SHA-256 of the transcript's stored bodies.

Only these differences are allowed:

- An attempt without a recorded answer, because it failed or its process was killed, may be missing in the
  capture, may have broken off there, or may have got an answer there that never arrived. Their number is
  reported: each was asked again.
- If no whole answer reached the recorder, it tells the client so itself (HTTP 400, 413 or 502). These answers
  are not the API's, and the capture does not have them. No call is ever given up by them: an answer that ends
  a call must be captured.
- The key. Both sides hide it. The recorder hides the owner's key alone and records its scheme, so any other
  value in its place, and the key by another scheme than the dialect's, is a fault.
- Requests to another host, past the recorder: to the run's other provider, which has a recorder of its own,
  or for an image from a host that the plan has to name (``provider.image_hosts``).
- A torn last line of the capture. Its message had not been passed on yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import groupby, takewhile, zip_longest
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pcevolve.auditing.flows import Flow, FlowAnswer, Request, read_flows
from pcevolve.public.answers import is_success
from pcevolve.public.dialects import find_abilities
from pcevolve.public.finding import Finding
from pcevolve.public.release import WITHHELD
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import (
    Finished,
    Header,
    Planned,
    Received,
    RecordedRelease,
    Sent,
    part_of,
    planned_slot,
)
from pcevolve.public.transcript.traffic import Attempt
from pcevolve.wire.egress.transport import HIDDEN

RECORDERS_OWN: Final = frozenset({400, 413, 502})


@dataclass(frozen=True)
class Recorded:
    """One attempt at a request in the transcript.

    Attributes:
        host: Its target, with a port if that is not the scheme's default.
        over: Line that records its outcome; None without one.
        answer: The answer; None if the attempt failed or was cut off.
        settles: Whether outputs are missing because of this answer, which then has to be the API's own.
        given_up: Whether outputs are missing because the API failed at every try, so that no success may have
            come.
    """

    where: str
    host: str
    request: Request
    line: int
    over: int | None
    answer: FlowAnswer | None = None
    settles: bool = False
    given_up: bool = False

    @property
    def is_due(self) -> bool:
        """True if the capture must contain it."""
        return self.answer is not None

    @property
    def may_have_failed(self) -> bool:
        """True if no whole answer need have come: none is on record, or the recorder may have sent it."""
        return not self.settles and (self.answer is None or self.answer.status in RECORDERS_OWN)

    @classmethod
    def of(cls, attempt: Attempt, unmade: Mapping[str, Attempt], scheme: str) -> Recorded:
        """Prepare an attempt for comparison with a recorder's flows."""
        sent, came = attempt.sent, attempt.answer
        where = f"request {sent.slot} (line {attempt.line})"
        answer = None if came is None else FlowAnswer(came.status, came.headers, came.body.sha256)
        host = urlsplit(sent.url).netloc
        last = unmade.get(planned_slot(sent.slot))
        failed = last is not None and (last.answer is None or last.answer.status >= 500)
        settles = attempt is last and not failed
        return cls(where, host, _request(sent, scheme), attempt.line, attempt.over, answer, settles, failed)

    def overlaps(self, later: Recorded) -> bool:
        """True if it was still in flight when a later one was sent."""
        return self.over is None or later.line < self.over


def reconcile(run: RunReader, capture: Path) -> list[Finding]:
    """Compare a run's record with an independent capture of its traffic (``TranscriptError`` if it is unreadable)."""
    flows, torn = read_flows(capture)
    # The last attempt at each call that lacks outputs, or at a step of its job.
    unmade = {
        slot: each
        for each in run.traffic.attempts
        if part_of(each.sent.slot) in ("call", "job")
        and WITHHELD in run.outputs.get(slot := planned_slot(each.sent.slot), ())
    }
    scheme = find_abilities(run.opened.dialect).scheme
    everything = [Recorded.of(each, unmade, scheme) for each in run.traffic.attempts]
    host = urlsplit(run.opened.api).netloc
    attempts = [each for each in everything if each.host == host]
    comparison = _Comparison()
    at_once = _most_at_once(run)
    seen = _complete(flows, attempts, at_once)
    # Requests sent one after the other must be in order; only those in flight at once may have overtaken each
    # other.
    for ours, theirs in _align(attempts, seen if at_once == 1 else _in_order(seen, attempts)):
        comparison.compare(ours, theirs)
    comparison.conclude()
    note = "; its last line is torn, and what it began to tell of was not passed on" if torn else ""
    past = len(everything) - len(attempts)
    aside = f", apart from {past} to other hosts, which this recorder does not see" if past else ""
    lost = ""
    if comparison.lost and not comparison.answers:
        lost = f", apart from {comparison.lost} that came and are on record as lost"
    return [
        Finding(f"the capture can be read{note}", (), len(flows)),
        Finding("nothing was sent that is not on record", tuple(comparison.unrecorded), len(flows)),
        Finding(f"nothing is on record that was not sent{aside}", tuple(comparison.unsent), len(attempts)),
        Finding(
            f"every answer on record is the one that came{lost}",
            tuple(comparison.answers),
            sum(each.answer is not None for each in attempts),
        ),
    ]


def _request(sent: Sent, scheme: str) -> Request:
    # As a recorder writes it: a header that contains only this word has no key.
    shown = {HIDDEN: f"{'' if scheme == 'api-key' else scheme}\n{HIDDEN}"}
    headers = tuple((name, shown.get(value, value)) for name, value in sent.headers)
    parts = urlsplit(sent.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Request(sent.method, target, "HTTP/1.1", headers, sent.body.sha256)


def _complete(flows: Sequence[Flow], attempts: Sequence[Recorded], at_once: int) -> list[Flow]:
    """Assign each broken-off request to the next attempt without an answer that begins in the same way."""
    completed, after, taken = [], 0, set()
    for flow in flows:
        # A broken-off request has no digest, so it is matched by its head alone, and only to attempts without
        # an answer.
        fits = _is_whole if flow.request.sha256 is not None else _may_have_broken_off
        near = range(max(after - at_once, 0), len(attempts))
        found = next((place for place in near if place not in taken and fits(attempts[place], flow)), None)
        if found is not None:
            taken.add(found)
            after = max(after, found + 1)
            flow = replace(flow, request=attempts[found].request)
        completed.append(flow)
    return completed


def _most_at_once(run: RunReader) -> int:
    under_way, most = set[str](), 1
    for entry in run.entries:
        if isinstance(entry.record, Sent):
            under_way.add(planned_slot(entry.record.slot))
            most = max(most, len(under_way))
        elif isinstance(entry.record, Received):
            under_way.discard(entry.record.slot)
        elif isinstance(entry.record, Planned | RecordedRelease | Finished):
            under_way.clear()
    return most


def _in_order(flows: Sequence[Flow], attempts: Sequence[Recorded]) -> list[Flow]:
    """Put requests that were in flight at once in their recorded order."""
    waiting, ordered = list(flows), []
    for place, attempt in enumerate(attempts):
        later = attempts[place + 1 :]
        if not _is_its_turn(attempt, later, waiting):
            continue
        met = {each.request for each in takewhile(attempt.overlaps, later)}
        earlier = sum(1 for _ in takewhile(lambda flow: flow.request in met, waiting))  # noqa: B023 - used at once
        found = next(
            (k for k, flow in enumerate(waiting[: earlier + 1]) if flow.request == attempt.request), None
        )
        if found is not None:
            ordered.append(waiting.pop(found))
    return ordered + waiting


def _is_its_turn(attempt: Recorded, later: Sequence[Recorded], waiting: Sequence[Flow]) -> bool:
    """True if an attempt may have been sent: without an answer only if enough flows are left for answered ones."""
    if attempt.is_due:
        # Flows are left for answered attempts first, because those must have been sent.
        return True
    left = sum(flow.request == attempt.request for flow in waiting)
    return left > sum(each.request == attempt.request and each.is_due for each in later)


def _is_whole(attempt: Recorded, flow: Flow) -> bool:
    return attempt.request == flow.request and _same_answer(attempt, flow)


def _may_have_broken_off(attempt: Recorded, flow: Flow) -> bool:
    return attempt.request._replace(sha256=None) == flow.request and attempt.may_have_failed


def _same_answer(attempt: Recorded, flow: Flow) -> bool:
    """True if the answer on record is the one that went back to the client."""
    if attempt.answer is None or flow.answer is None:
        return attempt.may_have_failed or (attempt.answer is None and flow.answer is not None)
    return attempt.answer == flow.answer


def _align(
    attempts: Sequence[Recorded], flows: Sequence[Flow]
) -> Iterator[tuple[list[Recorded], list[Flow]]]:
    """Pair runs of equal requests on both sides, in order; unmatched ones are beside what is in their place."""
    ours = [list(group) for _, group in groupby(attempts, key=lambda each: each.request)]
    theirs = [list(group) for _, group in groupby(flows, key=lambda each: each.request)]
    matcher = SequenceMatcher(
        # autojunk would take a request that is repeated often for noise.
        None,
        [each[0].request for each in ours],
        [each[0].request for each in theirs],
        autojunk=False,
    )
    for _, start, end, from_, to in matcher.get_opcodes():
        yield from zip_longest(ours[start:end], theirs[from_:to], fillvalue=[])


@dataclass
class _Comparison:
    """The state of a comparison.

    Attributes:
        apart: Requests without a counterpart, beside what is in their place.
        lost: Number of answers that are not on record.
    """

    unrecorded: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    lost: int = 0
    apart: list[tuple[Recorded | None, Flow | None]] = field(default_factory=list)

    def compare(self, ours: Sequence[Recorded], theirs: Sequence[Flow]) -> None:
        """Compare the attempts at one request with their flows, or with what came in their place."""
        due = [each for each in ours if each.is_due]
        if not ours or not theirs or ours[0].request != theirs[0].request:
            self.apart.append((due[0] if due else None, theirs[0] if theirs else None))
        elif len(theirs) > len(ours):
            times = f"{len(theirs)} times, and is on record {len(ours)} times"
            self.unrecorded.append(f"{ours[0].where} was sent {times} (capture line {theirs[-1].line})")
        elif len(theirs) < len(due):
            self.unsent.append(
                f"{due[-1].where} was sent {len(theirs)} times, and answered {len(due)} times on record"
            )
        else:
            self.answers.extend(_unlike(due, theirs))
            came = Counter(each.answer for each in theirs) - Counter(each.answer for each in due)
            if ours[-1].given_up and any(each is not None and is_success(each.status) for each in came):
                self.answers.append(f"{ours[-1].where} is on record as missing, and an answer to it had come")
            self.lost += came.total() - came[None]

    def conclude(self) -> None:
        """Report unmatched requests: added, left out, changed, or in another place in the order."""
        recorded = {ours.request for ours, _ in self.apart if ours}
        sent = {theirs.request for _, theirs in self.apart if theirs}
        for ours, theirs in self.apart:
            lost = ours if ours and ours.request not in sent else None
            new = theirs if theirs and theirs.request not in recorded else None
            if theirs and not new:
                self.unrecorded.append(
                    f"{_name(theirs)} was sent at another place in the order than on record"
                )
            if lost and new:
                self.unrecorded.append(
                    f"{_name(new)} was sent where {lost.where} is on record: {_differences(lost.request, new.request)}"
                )
            elif new:
                self.unrecorded.append(f"{_name(new)} was sent and is not on record")
            elif lost:
                self.unsent.append(f"{lost.where} is on record as answered, and was not sent")


def _unlike(due: Sequence[Recorded], flows: Sequence[Flow]) -> Iterator[str]:
    """Yield recorded answers that are not, in this order, among those that came."""
    coming = iter(flows)
    for attempt in due:
        if not any(_same_answer(attempt, flow) for flow in coming):
            yield f"{attempt.where}: its answer differs from what came (capture line {flows[-1].line})"
            return


def _name(flow: Flow) -> str:
    return f"capture line {flow.line} ({f'{flow.request.method} {flow.request.target}'[:80]!a})"


def _differences(recorded: Request, sent: Request) -> str:
    """Return how two requests differ, without the values of headers."""
    differences = [
        name for name in ("method", "target", "version") if getattr(recorded, name) != getattr(sent, name)
    ]
    differences += [f"header {name}" for name in _other_headers(recorded.headers, sent.headers)]
    if recorded.sha256 != sent.sha256:
        differences.append("body" if sent.sha256 else "body, which broke off")
    return ", ".join(differences)


def _other_headers(recorded: Sequence[Header], sent: Sequence[Header]) -> list[str]:
    unlike = sorted({ascii(name) for name, _ in set(recorded) ^ set(sent)})
    return unlike or (["order or number"] if tuple(recorded) != tuple(sent) else [])
