"""What the API does not carry out is missing, and the run goes on; what is every request's fault ends it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pcevolve.errors import ClientError, ProviderError
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Failed
from pcevolve.wire.egress.losses import FinalLoss, LossCount, find_loss
from pcevolve.wire.egress.pace import RequestWindow
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.wire.providers.faults import Fault, fault
from pcevolve_shared import images
from support.examples import examples
from support.forge import Event, faults_of, forge
from support.provider import FakeProvider, ok
from support.runs import SmallRun, small_plan

LARGE = images.to_base64(images.encode(Image.new("RGB", (4096, 4096))))
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
SHAPE = {"candidates": 6, "initial": 6, "batch": 1, "iterations": 1, "strengths": (0.8,)}
TOO_LONG = b'{"error": {"message": "maximum context length is 77 tokens", "type": "invalid_request_error"}}'


def refuse(status: int, body: bytes = b'{"error": "no"}') -> Callable[[Outgoing], Incoming]:
    return lambda request: Incoming(status, (("content-type", "application/json"),), body)


def lose(reason: str) -> Callable[[Outgoing], Incoming]:
    def trouble(request: Outgoing) -> Incoming:
        raise ConnectionTroubleError(reason)

    return trouble


@dataclass
class Moody(FakeProvider):
    """Carries out all requests but those that were the ``fails``-th new ones, at every try."""

    fails: frozenset[int]
    act: Callable[[Outgoing], Incoming]
    known: list[bytes] = field(default_factory=list)
    well: bool = False

    def __post_init__(self) -> None:
        super().__init__(self._meddle_with)

    def _meddle_with(self, request: Outgoing) -> Incoming | None:
        if request.method != "POST":
            return None
        if request.body not in self.known:
            self.known.append(request.body)
        failing = self.known.index(request.body) in self.fails and not self.well
        return self.act(request) if failing else None

    @property
    def posts(self) -> list[bytes]:
        return [each.body for each in self.requests if each.method == "POST"]


def run_until_it_ends(root: Path, provider: Moody, **changes: object) -> ClientError | None:
    run = SmallRun.open(root, small_plan(**{**SHAPE, **changes}), provider)
    try:
        run.evolve() if (root / "release").exists() else run.finish()
    except ClientError as error:
        return error
    finally:
        run.close()
    return None


def missing(root: Path) -> list[str]:
    return sorted(slot for slot, outputs in RunReader.strict(root).outputs.items() if EMPTY in outputs)


FINAL = {
    "context length": refuse(400, TOO_LONG),
    "not implemented": refuse(501),
    "words about billing that are about the prompt": refuse(422, b'{"error": "billing records are unknown"}'),
    "a size that this image has": refuse(400, b'{"error": "image of 300x200: unsupported size"}'),
    "a gateway at every try": refuse(504),
    "no whole answer at any try": lose("the connection broke"),
    "no answer in time at any try": lose("the answer took too long"),
    "an error inside a success": lambda request: ok({"error": {"code": 500, "message": "worker died"}}),
    "zero images": lambda request: ok({"images": []}),
    "an image that is none": lambda request: ok({"image": "%%%", "cost": 0}),
    "no field of an image": lambda request: ok({"picture": "x"}),
    "no JSON": lambda request: Incoming(200, (), b"<html>"),
    "no Unicode": lambda request: Incoming(200, (), b'{"image": "\xff\xfe"}'),
    "larger than asked": lambda request: ok({"image": LARGE, "cost": 0}),
}
DOUBTED = ("words about billing that are about the prompt", "a size that this image has")
"""Words that may mean the account: the second time they are believed to be about the request."""


@pytest.mark.parametrize("case", FINAL)
@pytest.mark.parametrize("at_once", [1, 4])
def test_one_request_that_always_fails_after_a_paid_round_is_missing_and_the_run_ends(
    tmp_path, case, at_once
):
    provider = Moody(frozenset({14}), FINAL[case])  # of round 1, behind its receipt
    if case in DOUBTED:
        assert run_until_it_ends(tmp_path, provider, at_once=at_once) is not None
    assert run_until_it_ends(tmp_path, provider, at_once=at_once) is None
    assert len(missing(tmp_path)) == 1
    assert faults_of(tmp_path) == []
    asked = len(provider.requests)
    assert run_until_it_ends(tmp_path, provider, at_once=at_once) is None
    assert len(provider.requests) == asked


COMMON = {
    **{str(status): refuse(status) for status in (401, 402, 429, 301)},
    "a code for the credit": refuse(400, b'{"error": {"code": "insufficient_quota", "message": "no"}}'),
    "nobody there": lose("connection refused or no such host"),
}


@pytest.mark.parametrize("act", COMMON.values(), ids=COMMON)
def test_what_is_every_requests_fault_ends_the_run_each_time_and_nothing_is_missing(tmp_path, act):
    provider = Moody(frozenset({14}), act)
    for _ in range(2):
        assert isinstance(run_until_it_ends(tmp_path, provider), ProviderError)
    provider.well = True
    assert run_until_it_ends(tmp_path, provider) is None
    assert missing(tmp_path) == []
    assert faults_of(tmp_path) == []


MANY = {"candidates": 20, "initial": 20, "min_usable": 0.1, "prototypes": 20}
STOPS = {
    "the first": (refuse(400), range(1), {}, "no", 1),
    "the first, at every try": (refuse(500), range(1000), {}, "HTTP 500", 1),
    "the first, without an image": (FINAL["zero images"], range(1000), {}, "0 where 1", 1),
    "eight in a row": (
        refuse(400),
        range(45, 1000),
        MANY,
        "8 requests in a row were answered in this way: .*--resume RUN",
        53,
    ),
    "eight by moderation": (
        refuse(400, b'{"error": {"code": "moderation_blocked", "message": "no"}}'),
        range(45, 1000),
        MANY,
        "8 requests in a row were answered in this way: .*--resume RUN",
        53,
    ),
    "three that were waited for": (
        refuse(503),
        range(14, 1000),
        MANY,
        "3 requests in a row were answered in this way",
        17,
    ),
    # the other class, asked in turn, has all that it was asked for
    "too little of a class": (
        refuse(400),
        range(2, 12, 2),
        {},
        "too few usable candidates are left of class 'cut'",
        11,
    ),
}


@pytest.mark.parametrize(("act", "fails", "plan", "said", "asked"), STOPS.values(), ids=STOPS)
def test_too_many_refusals_stop_the_run_and_all_are_asked_for_again(tmp_path, act, fails, plan, said, asked):
    provider = Moody(frozenset(fails), act)
    assert re.search(said, str(run_until_it_ends(tmp_path, provider, **plan)))
    assert len(provider.known) == asked
    refused = [each for place, each in enumerate(provider.known) if place in fails]
    before = [provider.posts.count(each) for each in refused]
    provider.well = True
    assert run_until_it_ends(tmp_path, provider, **plan) is None
    assert [provider.posts.count(each) for each in refused] == [each + 1 for each in before]
    assert missing(tmp_path) == []
    assert faults_of(tmp_path) == []


@pytest.mark.parametrize(
    ("fails", "plan", "resumed", "lost"),
    [
        pytest.param(range(1), {}, 1, 1, id="a first request that is refused a second time"),
        pytest.param(range(45, 57), MANY, 2, 12, id="more than eight in a row"),
        pytest.param([*range(45, 52), *range(53, 60)], MANY, 0, 14, id="seven twice, and one between"),
        pytest.param(
            range(40, 50),
            {"candidates": 20, "initial": 20, "prototypes": 2},
            0,
            10,
            id="variations of an image that the API does not take",
        ),
        pytest.param(range(14, 15), {"dialect": "chat"}, 0, 1, id="a text"),
    ],
)
def test_what_an_api_never_carries_out_is_missing_in_the_end(tmp_path, fails, plan, resumed, lost):
    provider = Moody(frozenset(fails), refuse(422, TOO_LONG))
    ended = [run_until_it_ends(tmp_path, provider, **plan) for _ in range(1 + resumed)]
    assert ended[-1] is None
    assert len(missing(tmp_path)) == lost
    assert faults_of(tmp_path) == []


def test_of_several_outputs_the_one_that_is_broken_is_missing_alone_and_the_answer_is_not_paid_again(
    tmp_path,
):
    def halve(request: Outgoing) -> Incoming:
        good = json.loads(FakeProvider().answer(request).body)["images"][0]
        return ok({"images": [good, {"image": "%%%", "seed": 1}], "cost": 0.0})

    provider = Moody(frozenset({5}), halve)
    assert run_until_it_ends(tmp_path, provider, batch=2) is None
    assert len(missing(tmp_path)) == 1
    assert len({*provider.posts}) == len(provider.posts)
    assert [EMPTY in each for each in RunReader.strict(tmp_path).outputs.values()].count(True) == 1
    assert faults_of(tmp_path) == []


def test_the_owner_is_told_of_each_loss(tmp_path):
    told = []
    run = SmallRun.open(
        tmp_path,
        small_plan(**SHAPE),
        Moody(frozenset({5}), refuse(400, TOO_LONG)),
        report=lambda notice: told.append(notice.message),
    )
    run.finish()
    (said,) = told
    assert "of class 'good': 0 of 1 arrived: the API refused" in said
    assert "maximum context length" in said


@pytest.fixture(scope="module")
def hurried() -> Iterator[None]:
    """Requests that are under way together are tried again at once, as one alone is by ``SmallRun``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RequestWindow, "pause", lambda self, seconds: None)
        yield


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("at_once", [1, 3])
@settings(max_examples=examples(25), deadline=None)
@given(fails=st.sets(st.integers(0, 40), max_size=12), cut=st.integers(3, 60), slow=st.booleans())
def test_whatever_fails_and_wherever_a_run_is_cut_off_the_resumed_one_ends_as_it_should(
    tmp_path_factory, at_once, fails, cut, slow
):
    root = tmp_path_factory.mktemp("cut")
    provider = Moody(frozenset(fails), refuse(500 if slow else 400))
    run_until_it_ends(root, provider, at_once=at_once, lookahead=1)
    log = root / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    if not (root / "release").exists() and len(lines) > cut + 5:
        # As kill -9 leaves it: receipts are the ledger's, and what was stored stays.
        kinds = [json.loads(each)["event"]["kind"] for each in lines]
        if "released" not in kinds[cut:]:
            log.write_bytes(b"".join(lines[:cut]))
    for _ in range(12):
        if run_until_it_ends(root, provider, at_once=at_once, lookahead=1) is None:
            break
    else:
        provider.well = True
        assert run_until_it_ends(root, provider, at_once=at_once, lookahead=1) is None
    assert faults_of(root) == []


def test_a_good_answer_that_is_called_missing_is_found_out(tmp_path):
    assert run_until_it_ends(tmp_path, Moody(frozenset(), refuse(400))) is None
    slot = "i001/c000/n000002"

    def lie(events: list[Event]) -> None:
        for each in events:
            if each["kind"] == "received" and each["slot"] == slot:
                each["outputs"] = [EMPTY]

    forge(tmp_path, lie)
    assert any(f"answer {slot}" in each and "other outputs" in each for each in faults_of(tmp_path))


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_a_fault_of_all_requests_that_is_called_one_outputs_is_found_out(tmp_path, status):
    assert run_until_it_ends(tmp_path, Moody(frozenset({14}), refuse(400))) is None

    def lie(events: list[Event]) -> None:
        for each in events:
            if each["kind"] == "answered" and each["status"] == 400:
                each["status"] = status

    forge(tmp_path, lie)
    assert any("request i001/c000/n000003 is out of order" in each for each in faults_of(tmp_path))


def test_of_what_is_missing_nobody_chooses_what_is_asked_for_again(tmp_path):
    """Two are refused, then the run is cut off; only the second is asked for again."""
    provider = Moody(frozenset({14, 15}), refuse(400))
    assert run_until_it_ends(tmp_path, provider) is None
    events = [entry.record for entry in RunReader.strict(tmp_path).entries]
    slots = [each.slot for each in events if isinstance(each, Answered) and each.status == 400]
    assert faults_of(tmp_path) == []

    def again(events: list[Event]) -> list[Event]:
        place = next(
            k for k, each in enumerate(events) if each["kind"] == "sent" and each["slot"] == slots[1]
        )
        block = events[place : place + 2]
        later = next(k for k, each in enumerate(events) if each["kind"] == "sent" and k > place)
        changed = [*events[: later + 2], *block, *events[later + 2 :]]
        changed[-1] = {**changed[-1], "sent": changed[-1]["sent"] + 1}
        return changed

    forge(tmp_path, again)
    assert any(f"'sent' {slots[1]} stands where" in each for each in faults_of(tmp_path))


def answered(status: int, body: bytes = b"{}") -> Answered:
    ref = BodyRef(sha256="0" * 64, size=len(body), text=body.decode())
    return Answered(slot="s", status=status, headers=(), body=ref, wire_bytes=0)


def fault_of(answer: Answered):
    return fault(answer.status, (answer.body.text or "").encode(), {})


@pytest.mark.parametrize(
    ("outcomes", "loss"),
    [
        ([], None),
        ([answered(400)], FinalLoss()),
        ([answered(400), answered(400)], FinalLoss(nth=2)),
        ([answered(401), answered(400)], FinalLoss()),
        ([answered(500)], None),
        ([answered(500)] * 2, None),
        ([answered(500)] * 3, FinalLoss(slow=True)),
        ([answered(500), answered(502), answered(504)], FinalLoss(slow=True)),
        ([answered(500), answered(429), answered(500)], None),
        ([answered(500)] * 3 + [Failed(slot="s", reason="no connection in time")], None),
        ([Failed(slot="s", reason="cut off")] * 3, None),
        ([Failed(slot="s", reason="the answer is too large")] * 3, None),
        ([answered(403, b'{"code": "content_moderation"}')], FinalLoss(sure=True)),
        ([answered(403, b'{"message": "flagged"}')], None),
        ([answered(200)], FinalLoss()),
    ],
)
def test_the_rule_reads_what_is_on_record_and_nothing_else(outcomes, loss):
    assert find_loss(outcomes, fault_of) == loss


@pytest.mark.parametrize(
    ("statuses", "loss"),
    [
        ({300, 301, 308, 399, 401, 402, 403, 404, 408, 413, 425, 429}, None),
        ({299, 400, 405, 406, 407, 409, 410, 412, 414, 415, 422, 424, 426, 428, 430, 451}, FinalLoss(nth=3)),
    ],
)
def test_by_their_statuses_faults_are_of_one_request_or_of_all(statuses, loss):
    for status in statuses:
        silent = Fault("", reason=None, passes=False, status=status)
        assert find_loss([answered(500)] * 3, lambda _, silent=silent: silent) == loss, status


@pytest.mark.parametrize(
    ("sizes", "may_lose"),
    [
        ({"candidates": 10, "initial": 10, "min_usable": 0.9}, 1),
        ({"candidates": 4, "initial": 4}, 2),
        ({"candidates": 2, "initial": 2}, 0),
        # Nothing is chosen from the last round, of which one image of a class is worth having.
        ({"candidates": 2, "initial": 2, "iterations": 0}, 1),
    ],
)
def test_as_many_outputs_may_be_missing_as_a_release_can_do_without(sizes, may_lose):
    plan = small_plan(batch=1, **{"iterations": 1, "strengths": (0.8,) * sizes.get("iterations", 1)} | sizes)
    calls = [call for call in plan.calls.values() if call.purpose == "create" and call.label == "cut"]
    refused, withheld = LossCount(plan), LossCount(plan)
    for call in calls[:may_lose]:
        assert refused.hold(call, FinalLoss()) == ""
        withheld.note(call, [b""])
    for each in (refused, withheld):
        assert "too few usable candidates are left of class 'cut'" in each.hold(calls[may_lose], FinalLoss())
