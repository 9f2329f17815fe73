"""Several requests of a round under way at once: the same run as one after the other, and no freedom more."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pcevolve.errors import (
    AllowanceError,
    ClientError,
    EgressError,
    ProviderRefusedError,
    ProviderUnreachableError,
)
from pcevolve.public.release import PublicEcho
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Failed, Received, Sent
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.allowance import Allowance
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.pace import RequestWindow
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from support import online
from support.forge import faults_of
from support.provider import FakeProvider, _model
from support.runs import SmallRun, small_plan, vary

AT_ONCE = 5
SHAPE = {"candidates": 6, "initial": 6, "prototypes": 6, "lookahead": 1, "batch": 2}


ONE_BY_ONE = {**SHAPE, "batch": 1}


class Slow(FakeProvider):
    """Answers late, the first of several last, and counts how many wait."""

    def __init__(
        self, meddle: Callable[[Outgoing], Incoming | None] = lambda request: None, until: int = 0
    ) -> None:
        """Answer, for a second, nobody before so many wait."""
        super().__init__(meddle)
        self.waiting = self.most = 0
        self._until, self._counting = until, threading.Condition()

    def send(self, request: Outgoing) -> Incoming:
        with self._counting:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            pause = 0.02 / self.waiting
            self._counting.notify_all()
            self._counting.wait_for(lambda: self.most >= self._until, 1 if request.method == "POST" else 0)
        time.sleep(pause)
        try:
            return super().send(request)
        finally:
            with self._counting:
                self.waiting -= 1


def finish(root: Path, provider: FakeProvider, **changes: object) -> SmallRun:
    run = SmallRun.open(root, small_plan(**{**SHAPE, **changes}), provider)
    run.finish()
    run.close()
    return run


def kinds(root: Path) -> list[tuple[type, str]]:
    records = (entry.record for entry in RunReader.strict(root).entries)
    return [
        (type(each), each.slot) for each in records if isinstance(each, Sent | Answered | Failed | Received)
    ]


def slots_of(root: Path, kind: type) -> list[str]:
    return [slot for each, slot in kinds(root) if each is kind]


def test_a_round_asks_for_several_images_at_once_and_for_no_more_than_the_plan_says(tmp_path):
    provider = Slow(until=AT_ONCE)
    finish(tmp_path, provider, at_once=AT_ONCE)
    assert provider.most == AT_ONCE


def test_the_dataset_is_that_of_one_request_after_the_other(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    first = SmallRun.open(one, small_plan(**SHAPE), FakeProvider())
    receipts = [first.evolve().receipts, first.account.receipts()]
    first.close()
    shutil.copytree(tmp_path / "one-private", tmp_path / "other-private")
    second = SmallRun.open(other, small_plan(**SHAPE, at_once=AT_ONCE), Slow())
    evolved = second.evolve()
    assert [evolved.receipts, second.account.receipts()] == receipts
    assert RunReader.strict(other).outputs == RunReader.strict(one).outputs
    assert slots_of(other, Sent) == slots_of(one, Sent)
    assert kinds(other) != kinds(one)


def test_the_next_request_has_left_when_somebody_works_on_an_answer():
    begun = []

    def begin(asked: int) -> Callable[[], int]:
        begun.append(asked)
        return lambda: asked

    window = RequestWindow(2, lambda: None)
    answers = window.answers([0, 1, 2], lambda asked: False, begin, lambda asked, brought: brought)
    assert [(next(answers), list(begun)) for _ in range(3)] == [(0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2])]


def test_a_gate_lets_nothing_out_of_turn_although_there_is_room_nor_after_one_that_it_refused(tmp_path):
    run = SmallRun.open(tmp_path, small_plan(**SHAPE, at_once=AT_ONCE))
    calls = list(run.plan.round(0))
    with pytest.raises(EgressError, match="out of order"):
        run.gate.create(calls[1])
    made = [each for call in calls for each in run.gate.create(call)]
    first, second, *_ = run.plan.lookaheads(0)
    with pytest.raises(EgressError, match="must carry the candidate that the plan names"):
        vary(run.gate, first, PublicEcho(made[1]))
    with pytest.raises(EgressError, match="out of order"):
        vary(run.gate, second, PublicEcho(made[1]))


def test_what_was_under_way_when_one_was_refused_is_on_record_and_not_asked_for_again(tmp_path):
    refused: list[str] = []

    def refuse_once(request: Outgoing) -> Incoming | None:
        if request.method == "POST" and not refused:
            refused.append(request.url)
            return Incoming(400, (("content-type", "application/json"),), b'{"error": "no"}')
        if request.method == "POST":
            time.sleep(0.5)  # once anything was carried out, a refusal is one output that is missing
        return None

    provider = Slow(refuse_once)
    run = SmallRun.open(tmp_path, small_plan(**ONE_BY_ONE, at_once=AT_ONCE), provider)
    with pytest.raises(ProviderRefusedError):
        run.evolve()
    run.close()
    assert provider.waiting == 0
    assert len(set(slots_of(tmp_path, Answered))) > 2
    again = FakeProvider()
    run = SmallRun.open(tmp_path, run.plan, again)
    run.finish()
    run.close()
    sent = slots_of(tmp_path, Sent)
    assert len(sent) == len(set(sent)) + 1  # the refused one
    assert faults_of(tmp_path) == []


@pytest.mark.parametrize(
    ("reason", "said", "is_tried_again"),
    [
        ("the certificate is out of date", "check this machine's clock", False),
        ("that port speaks no TLS", "the port uses plain http: give --api http://", False),
        ("the connection broke", "the connection broke", True),
    ],
)
def test_what_no_further_attempt_changes_is_told_at_once_with_what_mends_it(
    tmp_path, reason, said, is_tried_again
):
    def lose(request: Outgoing) -> None:
        if request.method == "POST":
            raise ConnectionTroubleError(reason)

    provider = FakeProvider(lose)
    with pytest.raises(ProviderUnreachableError, match=said):
        SmallRun.open(tmp_path, small_plan(**SHAPE), provider).finish()
    posted = [each for each in provider.requests if each.method == "POST"]
    assert (len(posted) > 1) == is_tried_again


@pytest.mark.parametrize(
    ("allowed", "posts", "said"),
    [
        (Allowance(requests=9), 8, "sent 9 requests"),  # the greeting is one
        (Allowance(cost=7.5, price=1.0), 7, r"--max-cost 7\.5"),  # what is under way counts at its price
    ],
)
def test_no_request_more_than_allowed_leaves_while_others_are_under_way(tmp_path, allowed, posts, said):
    provider = Slow(lambda request: _price(provider.answer(request)))
    run = SmallRun.open(tmp_path, small_plan(**ONE_BY_ONE, at_once=AT_ONCE), provider, allowance=allowed)
    with pytest.raises(AllowanceError, match=said):
        run.evolve()
    run.close()
    assert len(provider.requests) == len(slots_of(tmp_path, Answered)) == 1 + posts


def _price(answer: Incoming) -> Incoming:
    """Each image at one unit."""
    return replace(answer, body=answer.body.replace(b'"cost": 0.0', b'"cost": 1.0'))


class Silent:
    """Says who it is, and not what it made until nobody listens any more."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, request: online.Heard) -> online.Reply:
        if request.method == "POST":
            self.released.wait(60)
        return online.answer_json(200, [_model()])


def test_who_interrupts_does_not_wait_for_answers(tmp_path):
    """Real connections to a server that never answers a request for images."""
    silence = Silent()
    silent = online.LocalServer(silence)
    plan = small_plan(**SHAPE, at_once=AT_ONCE, api=silent.address)
    address = Address(silent.address, online.KEY)
    notices: list[object] = []
    run = SmallRun.open(tmp_path, plan, HttpTransport(60), address=address, report=notices.append)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.evolve()
    assert time.monotonic() - began < 20
    run.close()
    assert len(slots_of(tmp_path, Sent)) == 1 + 2  # the greeting, and two images each
    assert len(slots_of(tmp_path, Failed)) == 2
    assert notices == []  # nothing will be asked again, so nobody is told that it will
    silence.released.set()
    silent.close()


@pytest.mark.parametrize(("status", "is_one"), [(299, False), (302, True), (400, False)])
def test_a_redirect_is_told_with_its_place_and_is_an_answer_of_that_kind_only(tmp_path, status, is_one):
    elsewhere = Incoming(status, (("Location", "https://elsewhere.example/v1"),), b"{}")
    with pytest.raises(ClientError) as told:
        finish(tmp_path, FakeProvider(lambda request: elsewhere if request.method == "POST" else None))
    assert ("it redirects to https://elsewhere.example/v1" in str(told.value)) is is_one
