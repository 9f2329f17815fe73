"""Attempts at requests, as a record has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pcevolve.public.release import Receipt
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Failed, Received, RecordedRelease, Sent
from pcevolve.public.transcript.traffic import Arrival, Counts, RecordedOutputs, RecordedReceipt, Traffic
from support.provider import FakeProvider
from support.runs import RUN_ID, SmallRun, small_plan


def test_a_refusal_and_its_retry_are_two_attempts_at_one_slot(tmp_path: Path):
    class Refusing(FakeProvider):
        def answer(self, request):
            answer = super().answer(request)
            return replace(answer, status=503) if len(self.requests) == 3 else answer

    run = SmallRun.open(tmp_path, provider=Refusing())
    run.evolve()
    attempts = RunReader.strict(tmp_path).traffic.attempts
    counts = Counts.of(attempts)
    assert (counts.attempts, counts.retries, counts.unusable) == (counts.slots + 1, 1, 1)
    second = next(each for each in attempts if each.nth == 2)
    assert second.repeats is not None
    assert (second.repeats.usable, second.usable, second.repeats.sent) == (False, True, second.sent)
    assert run.gate._meter.requests == counts.attempts


REF = BodyRef(sha256="0" * 64, text="{}", size=2)


def sent(slot: str) -> Sent:
    return Sent(slot=slot, method="POST", url="http://127.0.0.1:9/x", headers=(), body=REF, wire_bytes=7)


def answered(slot: str, status: int = 200) -> Answered:
    return Answered(slot=slot, status=status, headers=(), body=REF, wire_bytes=9)


def test_steps_stand_in_the_order_in_which_they_happened_and_outputs_name_the_last_success():
    traffic, receipt = Traffic(small_plan()), Receipt(RUN_ID, 1, (), (), "replace-one", ())
    one = traffic.take(sent("a"), 1)
    two = traffic.take(sent("b"), 2, proven=False)
    assert traffic.take(answered("b", 503), 3) is two
    assert traffic.take(answered("b"), 4) is None  # it has an outcome
    three = traffic.take(sent("b"), 5)
    assert traffic.take(Failed(slot="a", reason="cut off"), 6) is one
    assert traffic.take(answered("b"), 7) is three
    assert traffic.take(RecordedRelease(receipt=receipt), 8) is None
    for slot in ("a", "b", "c"):
        assert traffic.take(Received(slot=slot, outputs=("0" * 64,)), 9) is None
    assert traffic.take(answered("c"), 10) is None  # nothing was sent
    assert traffic.steps == [
        one,
        two,
        Arrival(two),
        three,
        Arrival(three),
        RecordedReceipt(8, receipt, proven=True),
        RecordedOutputs("a", ("0" * 64,), None),
        RecordedOutputs("b", ("0" * 64,), three),
        RecordedOutputs("c", ("0" * 64,), None),
    ]
    assert [each.over for each in traffic.attempts] == [6, 3, 7]
    assert [(each.number, each.nth, each.repeats, each.proven) for each in traffic.attempts] == [
        (1, 1, None, True),
        (2, 1, None, False),
        (3, 2, two, True),
    ]
    assert not any(each.by_prompt for each in traffic.attempts)


def test_sums_count_each_retry_and_each_image_as_often_as_it_left():
    traffic = Traffic(None)
    for line, slot in enumerate(("hello", "a", "a", "b"), 1):
        traffic.take(sent(slot), 2 * line)
        traffic.take(answered(slot, 503 if line == 2 else 200), 2 * line + 1)
    assert Counts.of(traffic.attempts) == Counts(3, 4, 1, 4 * 7, 4 * 9, 0, 0)
    by_kind = Counts.by_kind(traffic.attempts)
    assert [(kind, each.attempts) for kind, each in by_kind.items()] == [
        (traffic.attempts[0].kind, 1),
        (traffic.attempts[1].kind, 3),
    ]
    assert set(Counts.by_kind(traffic.attempts, lambda group: len(list(group))).values()) == {1, 3}
