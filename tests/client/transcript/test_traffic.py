"""Attempts at requests, as a record has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pcevolve.transcript import Counts, RunReader
from support.provider import FakeProvider
from support.runs import SmallRun


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
