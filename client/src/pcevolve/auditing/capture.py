"""Compare a transcript with the capture of an independent recorder between client and API.

Everything that was sent must be on record, and everything on record must have been sent. Requests are compared in
order, except that requests in flight at the same time may reach the recorder in any order. They are compared in
full: method, target, version, each header with its spelling and position, and the SHA-256 of the exact body.
Answers are compared in the same way. The audit itself checks the SHA-256 of the transcript's stored bodies.

Only these differences are allowed:

- An attempt may have no recorded answer, because it failed or its process was killed. In the capture, such an
  attempt may be missing or broken off, or may have an answer that never reached the client. The audit reports the
  number of such answers. Each such request was sent again.
- If the recorder received no complete answer, it answers the client itself (HTTP 400, 413 or 502). These answers
  are not the API's, and the capture does not contain them. They never end a call: an answer that ends a call must
  be in the capture.
- The key is hidden on both sides. The recorder hides only the owner's key, and records its scheme. Any other value
  in the key's place is therefore a fault, and so is the key under another scheme than the dialect's.
- Requests to another host do not pass the recorder. They go to the run's other provider, which has its own
  recorder, or fetch an image from a host that the plan has to name (``provider.image_hosts``).
- The last line of the capture may be incomplete. Its message had not been passed on yet.
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
        host: Its target host, with the port if it is not the scheme's default.
        over: Line that records its outcome; None if it has none.
        answer: The answer; None if the attempt failed or was cut off.
        settles: True if outputs are missing because of this answer, which must then come from the API.
        given_up: True if outputs are missing because the API failed at every attempt, so that no success may be in
            the capture.
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
        """True if the capture must contain the attempt."""
        return self.answer is not None

    @property
    def may_have_failed(self) -> bool:
        """True if the API may have sent no complete answer: none is on record, or the recorder may have sent it."""
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
        """True if this attempt was still in flight when a later attempt was sent."""
        return self.over is None or later.line < self.over


def reconcile(run: RunReader, capture: Path) -> list[Finding]:
    """Compare a run's record with an independent capture of its traffic (``TranscriptError`` if it is unreadable)."""
    flows, torn = read_flows(capture)
    # The last attempt at each call whose outputs are missing, or at a step of the call's job.
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
    # Requests sent one after the other must be in order; only requests in flight together may have changed places.
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
    # Spell the key as a recorder does: the scheme, a new line and the placeholder. The scheme alone means no key.
    shown = {HIDDEN: f"{'' if scheme == 'api-key' else scheme}\n{HIDDEN}"}
    headers = tuple((name, shown.get(value, value)) for name, value in sent.headers)
    parts = urlsplit(sent.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Request(sent.method, target, "HTTP/1.1", headers, sent.body.sha256)


def _complete(flows: Sequence[Flow], attempts: Sequence[Recorded], at_once: int) -> list[Flow]:
    """Match each broken-off request with the next unanswered attempt that has the same head."""
    completed, after, taken = [], 0, set()
    for flow in flows:
        # A broken-off request has no digest, so it can only be matched by its head, and only with an attempt without
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
    # A call is in flight until its outputs are on record; a plan, a release and the end come after all calls.
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
    """Sort requests that were in flight at the same time into their recorded order."""
    waiting, ordered = list(flows), []
    for place, attempt in enumerate(attempts):
        later = attempts[place + 1 :]
        if not _is_its_turn(attempt, later, waiting):
            continue
        # A flow may pass only flows of requests that were in flight together with its own.
        met = {each.request for each in takewhile(attempt.overlaps, later)}
        earlier = sum(1 for _ in takewhile(lambda flow: flow.request in met, waiting))  # noqa: B023 - used at once
        found = next(
            (k for k, flow in enumerate(waiting[: earlier + 1]) if flow.request == attempt.request), None
        )
        if found is not None:
            ordered.append(waiting.pop(found))
    return ordered + waiting


def _is_its_turn(attempt: Recorded, later: Sequence[Recorded], waiting: Sequence[Flow]) -> bool:
    """True if an attempt may have been sent. An unanswered attempt needs a flow that no answered attempt needs."""
    if attempt.is_due:
        # Answered attempts get flows first, because they must have been sent.
        return True
    left = sum(flow.request == attempt.request for flow in waiting)
    return left > sum(each.request == attempt.request and each.is_due for each in later)


def _is_whole(attempt: Recorded, flow: Flow) -> bool:
    return attempt.request == flow.request and _same_answer(attempt, flow)


def _may_have_broken_off(attempt: Recorded, flow: Flow) -> bool:
    return attempt.request._replace(sha256=None) == flow.request and attempt.may_have_failed


def _same_answer(attempt: Recorded, flow: Flow) -> bool:
    """True if the answer on record equals the answer that the recorder passed to the client."""
    if attempt.answer is None or flow.answer is None:
        return attempt.may_have_failed or (attempt.answer is None and flow.answer is not None)
    return attempt.answer == flow.answer


def _align(
    attempts: Sequence[Recorded], flows: Sequence[Flow]
) -> Iterator[tuple[list[Recorded], list[Flow]]]:
    """Pair sequences of equal requests from both sides, in order.

    An unmatched sequence is paired with the sequence in its place on the other side.
    """
    ours = [list(group) for _, group in groupby(attempts, key=lambda each: each.request)]
    theirs = [list(group) for _, group in groupby(flows, key=lambda each: each.request)]
    matcher = SequenceMatcher(
        # autojunk would treat a request that is repeated often as noise.
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
        apart: Requests without a counterpart, each with the request in its place on the other side.
        lost: Number of answers that are in the capture but not on record.
    """

    unrecorded: list[str] = field(default_factory=list)
    unsent: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    lost: int = 0
    apart: list[tuple[Recorded | None, Flow | None]] = field(default_factory=list)

    def compare(self, ours: Sequence[Recorded], theirs: Sequence[Flow]) -> None:
        """Compare the attempts at one request with their flows, or with the flows in their place."""
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
        """Report unmatched requests: added, omitted, changed, or in another place in the order."""
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
    """Yield recorded answers that the capture does not contain in this order."""
    coming = iter(flows)
    for attempt in due:
        if not any(_same_answer(attempt, flow) for flow in coming):
            yield f"{attempt.where}: its answer differs from what came (capture line {flows[-1].line})"
            return


def _name(flow: Flow) -> str:
    return f"capture line {flow.line} ({f'{flow.request.method} {flow.request.target}'[:80]!a})"


def _differences(recorded: Request, sent: Request) -> str:
    """Describe the differences between two requests, without the values of headers."""
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
