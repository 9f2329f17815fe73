"""The harness can say 'escaped': gates that leak on purpose are found out. Nothing here is counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from leaks.attempts import Attempt, make_attempt
from leaks.corpus import CORPUS
from leaks.families import timing
from leaks.world import World
from pcevolve.public.calls import Call
from pcevolve.public.evolution import Pool
from pcevolve.public.release import Query
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.pace import Ready
from pcevolve.wire.egress.policy import Source
from pcevolve.wire.egress.retry import RetryPolicy
from support.runs import ADDRESS

BELIEVED = (
    "private pixels in a candidate",
    "private pixels with a text prompt",
    "receipt",
    "reason to leave",
    "judges",
    "private words",
    "hidden words",
    "tampered calls",
    "order",
    "dialects",
)
"""Families in which the gate is told something."""


class LeakyGate(Gate):
    """Sends whatever it is told to, as if it had a reason to leave."""

    def _begin(self, ask: tuple[Call, Source]) -> Ready[tuple[()]]:
        call, source = ask
        plan = self._transcript.plan()
        image = None if source is None else self._transcript.bodies.file(source.candidate.digest)
        request = self._dialect.encode(plan, call, image)
        self._exchange.obtain(call.slot, self._address.outgoing(request), self._patience)
        return Ready(())


class ChattyGate(Gate):
    """Sends what more there is in a call."""

    def _begin(self, ask: tuple[Call, Source]) -> Ready[tuple[()]]:
        call, source = ask
        request = self._policy.request_for(call, source)
        more = str(vars(call).get("user", "")).encode()
        self._exchange.obtain(
            call.slot, dataclasses.replace(request, body=request.body + more), self._patience
        )
        return Ready(())


def first_of(family: str) -> Attempt:
    return next(each for each in CORPUS if each.family == family)


def find_attempt(family: str, name: str) -> Attempt:
    return next(each for each in CORPUS if (each.family, each.name) == (family, name))


@pytest.mark.parametrize("family", BELIEVED)
def test_a_gate_that_believes_what_it_is_told_lets_it_escape(family: str, folder: Path):
    attempt = first_of(family)
    world = World.at(attempt.moment, folder, attempt.spoken)
    world.run.gate = LeakyGate(
        world.run.transcript, world.dialect, ADDRESS, world.provider, RetryPolicy(seconds=1, first=1)
    )
    verdict = make_attempt(attempt, world)
    assert (verdict.refused, verdict.left) == (False, 1)


def test_a_gate_that_sends_more_than_it_builds_lets_it_escape(folder: Path):
    attempt = find_attempt("extra fields", "of a call")
    world = World.at(attempt.moment, folder)
    world.run.gate.__class__ = ChattyGate
    verdict = make_attempt(attempt, world)
    assert (verdict.refused, verdict.left) == (False, 1)


def test_a_gate_that_does_not_look_at_what_is_stored_lets_it_escape(folder: Path):
    attempt = first_of("files")
    world = World.at(attempt.moment, folder)
    kept = world.run.transcript.bodies.folder
    world.run.gate._policy._bodies = SimpleNamespace(file=lambda digest: (kept / digest).read_bytes())
    verdict = make_attempt(attempt, world)
    assert (verdict.refused, verdict.left) == (False, 1)


@pytest.mark.parametrize("name", ["forged events", "forged choice", "another ledger's"])
def test_a_gate_that_believes_any_receipt_lets_it_escape(name: str, folder: Path):
    attempt = next(each for each in CORPUS if each.name == name)
    world = World.at(attempt.moment, folder)
    world.run.gate._policy._committed = lambda receipt: True
    verdict = make_attempt(attempt, world)
    assert (verdict.refused, verdict.left) == (False, 1)


def clock_reads_differently(folder: Path, name: str) -> bool:
    attempt = next(each for each in CORPUS if each.family == "timing" and each.name == name)
    return "the clock reads differently" in make_attempt(attempt, World.at(attempt.moment, folder)).said


@pytest.mark.parametrize("name", ["a selection that takes longer", "resuming"])
def test_a_client_that_pads_nothing_is_told_by_the_clock(name: str, folder: Path, monkeypatch):
    monkeypatch.setattr(timing, "TICK", 0.0)
    assert clock_reads_differently(folder, name)


@pytest.mark.parametrize(
    "name", ["a selection after the last request", "finishing late", "resuming after the last request"]
)
def test_a_gate_that_leaves_the_connection_open_is_told_by_the_clock(name: str, folder: Path, monkeypatch):
    monkeypatch.setattr(Gate, "_close_after_the_last", lambda self: None)
    assert clock_reads_differently(folder, name)


def test_a_judge_that_does_private_work_in_public_is_told_by_the_clock(folder: Path, monkeypatch):
    def show(judge: timing.Working, query: Query, pool: Pool) -> None:
        judge.clock.now += judge.took

    monkeypatch.setattr(timing.Working, "show", show)
    assert clock_reads_differently(folder, "a selection that takes longer")


def test_a_refusal_for_another_reason_does_not_count(folder: Path):
    def refuse(world: World) -> None:
        world.ask(call=dataclasses.replace(world.call, seed=1))

    world = World.at("create-1", folder)
    expected = Attempt("", "", "create-1", refuse, "is out of order")
    assert not make_attempt(expected, world).refused
