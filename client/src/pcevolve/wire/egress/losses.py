"""The rule for missing outputs: an answer that is final for its request makes the request's outputs missing.

Three kinds of answers are final. The first is any status from 400 on that no retry changes, except the
statuses that concern all requests (the key, the credit, the address, the size of a body). The second is an
answer that breaks the API's contract. The third is a fault of the API at each of the last tries. The rule
depends on the record alone, so an audit applies it too, and a capture of the traffic shows whether the API
gave that answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pcevolve.errors import ProviderError
from pcevolve.public.calls import Call
from pcevolve.public.fields import FEWEST
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.records import Answered, Failed
from pcevolve.wire.providers.faults import Fault

Outcome: TypeAlias = Answered | Failed
OF_ALL_REQUESTS: Final = frozenset({*range(300, 400), 401, 402, 403, 404, 408, 413, 425, 429})
"""Statuses that concern all requests: redirects, and those about key, credit, address, size or rate."""
_OF_ALL_REASONS: Final = ("key", "credit", "field")
TRIES: Final = 3
"""Number of consecutive failures of an API after which a request counts as lost."""
UNKEPT: Final = ("the answer is too large", "the answer repeats the API key")
"""Failures in which an answer came but was not kept."""
_BROKEN: Final = ("the connection broke", "the answer took too long")
"""Failures of a request that was sent."""
# A filter refuses some prompts of a class. A blocked account refuses all of them, and each try may be billed.
MOST_IN_A_ROW: Final = 8
"""Number of consecutive requests without outputs at which a run stops; so many indicate a fault of the account."""
# Each such request takes the full retry time of five minutes, so three take a quarter of an hour.
MOST_SLOW_IN_A_ROW: Final = 3
"""A run also stops if this many of these consecutive requests failed at every try."""


@dataclass(frozen=True)
class FinalLoss:
    """An answer that is final for its request.

    Attributes:
        sure: Whether a code states that the API's moderation refused this request.
        doubtful: Whether the answer may concern all requests, as its words suggest without a code.
        slow: Whether the API failed at every try.
        nth: Number of final answers that the request has had.
    """

    sure: bool = False
    doubtful: bool = False
    slow: bool = False
    nth: int = 1

    def is_borne(self, proven: bool) -> bool:
        """True if the run continues without the output.

        If not, the run stops. If the same request is refused again later, the request itself counts as the
        cause.

        Args:
            proven: Whether a request of the plan was carried out before.
        """
        return self.sure or (proven and (self.slow or not self.doubtful)) or (self.nth > 1 and not self.slow)


def find_loss(outcomes: Sequence[Outcome], fault_of: Callable[[Answered], Fault]) -> FinalLoss | None:
    """Return the loss if the last outcome of a request is final for this request alone; else None.

    Args:
        outcomes: Outcomes of all attempts at the request, oldest first.
        fault_of: Reads an unsuccessful answer.
    """
    if not outcomes:
        return None
    last, nth = outcomes[-1], sum(_is_final(each, fault_of) for each in outcomes)
    if isinstance(last, Answered) and last.succeeded:
        return FinalLoss(nth=nth)  # the loss is of the outputs that it lacks
    if _failed(last, fault_of):
        ended = len(outcomes) >= TRIES and all(_failed(each, fault_of) for each in outcomes[-TRIES:])
        return FinalLoss(slow=True) if ended else None
    # The request never reached the API, or its answer was unreadable; that says nothing about the request.
    if isinstance(last, Failed):
        return None
    fault = fault_of(last)
    if _is_of_all(fault):
        return None
    # By code alone, because in words a filter's answer and a wrong field look alike.
    sure = fault.coded and fault.reason == "content"
    return FinalLoss(sure, fault.reason not in (None, "content") and not fault.coded, nth=nth)


def _is_of_all(fault: Fault) -> bool:
    """True if a failure affects all requests (key, credit, address), or the next attempt may succeed."""
    # Moderation concerns this prompt, whatever the status.
    if fault.coded and fault.reason == "content":
        return False
    coded = fault.coded and fault.reason in _OF_ALL_REASONS
    return fault.passes or coded or fault.status in OF_ALL_REQUESTS


def _is_final(outcome: Outcome, fault_of: Callable[[Answered], Fault]) -> bool:
    """True if an attempt got an answer that concerns this request alone."""
    # A success with too few outputs is final too, because the same request would bring the same outputs.
    return isinstance(outcome, Answered) and (outcome.succeeded or not _is_of_all(fault_of(outcome)))


def _failed(outcome: Outcome, fault_of: Callable[[Answered], Fault]) -> bool:
    """True if the API failed at a request that had reached it, and may succeed at another time."""
    if isinstance(outcome, Failed):
        return outcome.reason in _BROKEN
    fault = None if outcome.succeeded else fault_of(outcome)
    return fault is not None and fault.passes and fault.status >= 500


def is_dead(outcomes: Sequence[Outcome], fault_of: Callable[[Answered], Fault]) -> bool:
    """True if the target of a link is lost.

    Links are followed without a key, so any refusal concerns the link alone.
    """
    loss, last = find_loss(outcomes, fault_of), outcomes[-1] if outcomes else None
    if isinstance(last, Failed):
        return last.reason in UNKEPT or loss is not None
    return last is not None and (last.succeeded or loss is not None or not fault_of(last).passes)


_UNKNOWN: Final = (404, 410)


def is_gone(outcomes: Sequence[Outcome], fault_of: Callable[[Answered], Fault]) -> bool:
    """True if the result of a job cannot be learned.

    Either the API has forgotten the job, or the job's state cannot be read or stored.
    """
    last = outcomes[-1] if outcomes else None
    if last is None or (isinstance(last, Answered) and last.succeeded):
        return False
    if isinstance(last, Failed):
        return last.reason in UNKEPT or find_loss(outcomes, fault_of) is not None
    fault = fault_of(last)
    return (fault.status in _UNKNOWN and not fault.passes) or find_loss(outcomes, fault_of) is not None


@dataclass(frozen=True)
class Brought:
    """The outcome of a call.

    Attributes:
        outputs: One for each requested output, empty if missing.
        error: Why some outputs are missing. None if all are there, or if the API withheld some within a
            success.
        loss: The rule's verdict on the outcome.
    """

    outputs: list[bytes]
    error: ProviderError | None = None
    loss: FinalLoss | None = None

    @property
    def is_lost(self) -> bool:
        """True if there is no output at all, for a reason that may change."""
        return self.error is not None and not any(self.outputs)


_Group: TypeAlias = tuple[str, int, bool]
"""A class, a round, and whether the candidates enlarge the last round's dataset instead of serving a release."""


@dataclass
class LossCount:
    """Counts a plan's missing outputs, and checks that enough are left to continue.

    Calls without outputs are held. They are recorded as missing once another call of their class had
    outputs, or their round is over. A run that stops before that sends them again when it is resumed.

    Attributes:
        held: Held calls by slot, in the order of failure, each with the number of candidates lost with it.
    """

    plan: PublicPlan
    held: dict[str, tuple[Call, int]] = field(default_factory=dict)
    _in_a_row: int = 0
    _slow: int = 0
    _last: tuple[str, object] | None = None
    _left: Counter[_Group] = field(default_factory=Counter)
    _open: Counter[tuple[int, str]] = field(default_factory=Counter)
    _views: Counter[str] = field(default_factory=Counter)
    _gone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for call in self.plan.calls.values():
            self._open[call.iteration, call.purpose] += 1
            if call.purpose == "look":
                self._views[call.source or ""] += call.count
            else:
                self._left[_group(call)] += call.count
        for (label, iteration, more), count in self._left.items():
            # In a round from which nothing is selected any more, even one image is worth keeping.
            fewest = FEWEST if iteration + 1 in self.plan.releases else 1
            self._left[label, iteration, more] -= self.plan.count_needed(count, fewest)

    def hold(self, call: Call, loss: FinalLoss) -> str:
        """Continue without a call's outputs; return why too much is missing, or an empty string."""
        # Several variations of one refused image count as one refusal, and so does a repeated request.
        varied = (call.label, call.source or call.parent)
        if loss.nth == 1 and (varied[1] is None or varied != self._last):
            self._in_a_row, self._slow = self._in_a_row + 1, self._slow + loss.slow
        self._last = varied
        if self._in_a_row >= MOST_IN_A_ROW or self._slow >= MOST_SLOW_IN_A_ROW:
            return f"{self._in_a_row} requests in a row were answered in this way"
        lost = self._count_lost(call, call.count)
        if lost > self._left[_group(call)]:
            return f"without this answer, too few usable candidates are left of class {call.label!r}"
        self.held[call.slot] = call, lost
        self._lose(call, call.count, lost)
        return ""

    def _count_lost(self, call: Call, missing: int) -> int:
        """Count the candidates that are lost with a call's outputs; a candidate is lost with its last view."""
        if call.purpose != "look":
            return missing
        return int(call.source not in self._gone and 0 < self._views[call.source or ""] <= missing)

    def _lose(self, call: Call, missing: int, lost: int) -> None:
        self._left[_group(call)] -= lost
        if call.purpose == "look":
            self._views[call.source or ""] -= missing

    def note(self, call: Call, outputs: Sequence[bytes]) -> None:
        self._open[call.iteration, call.purpose] -= 1
        if call.purpose != "look":
            self._gone.update(call.output(place) for place, each in enumerate(outputs) if not each)
        if self.held.pop(call.slot, None) is None:
            missing = outputs.count(b"")
            self._lose(call, missing, self._count_lost(call, missing))

    def list_settled(self, call: Call, outputs: Sequence[bytes]) -> list[Call]:
        """Return the held calls whose outputs are missing for good, now that this call was answered."""
        if any(outputs):
            self._in_a_row = self._slow = 0
            self._last = None
        is_over = self._open[call.iteration, call.purpose] == len(self.held)
        return [
            each for each, _ in self.held.values() if is_over or (any(outputs) and each.label == call.label)
        ]

    def forget_held(self) -> None:
        """Forget the held calls, because they will be sent again."""
        for call, lost in self.held.values():
            self._lose(call, -call.count, -lost)
        self.held.clear()
        self._in_a_row = self._slow = 0


def _group(call: Call) -> _Group:
    return call.label, call.iteration, call.purpose == "extend"
