"""What the API does not carry out is missing, and the run goes on; what is every request's fault ends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.errors import ClientError, ProviderError, ProviderRefusedError
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Failed
from pcevolve.wire.egress.losses import FinalLoss, LossCount, find_loss
from pcevolve.wire.egress.pace import RequestWindow
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.wire.providers.faults import Fault, fault
from support.examples import examples
from support.forge import Event, faults_of, forge
from support.provider import FakeProvider, ok
from support.runs import SmallRun, small_plan

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
SHAPE = {"candidates": 6, "initial": 6, "batch": 1, "iterations": 1, "strengths": (0.8,)}
TOO_LONG = b'{"error": {"message": "maximum context length is 77 tokens", "type": "invalid_request_error"}}'


def refuse(status: int, body: bytes = b'{"error": "no"}') -> Callable[[Outgoing], Incoming]:
    return lambda request: Incoming(status, (("content-type", "application/json"),), body)


def break_off(request: Outgoing) -> Incoming:
    raise ConnectionTroubleError("the connection broke")


def hang(request: Outgoing) -> Incoming:
    raise ConnectionTroubleError("the answer took too long")


def vanish(request: Outgoing) -> Incoming:
    raise ConnectionTroubleError("connection refused or no such host")


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
    "conflict": refuse(409),
    "gone": refuse(410),
    "unprocessable": refuse(422),
    "not implemented": refuse(501),
    "words about billing that are about the prompt": refuse(422, b'{"error": "billing records are unknown"}'),
    "a size that this image has": refuse(400, b'{"error": "image of 300x200: unsupported size"}'),
    "an error at every try": refuse(500),
    "a gateway at every try": refuse(504),
    "no whole answer at any try": break_off,
    "no answer in time at any try": hang,
    "an error inside a success": lambda request: ok({"error": {"code": 500, "message": "worker died"}}),
    "zero images": lambda request: ok({"images": []}),
    "an image that is none": lambda request: ok({"image": "%%%", "cost": 0}),
    "no field of an image": lambda request: ok({"picture": "x"}),
    "no JSON": lambda request: Incoming(200, (), b"<html>"),
    "no Unicode": lambda request: Incoming(200, (), b'{"image": "\xff\xfe"}'),
    "larger than asked": lambda request: ok({"image": _large(), "cost": 0}),
}


def _large() -> str:
    import base64
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (4096, 4096)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.mark.parametrize("act", FINAL.values(), ids=FINAL)
@pytest.mark.parametrize("at_once", [1, 4])
def test_one_request_that_always_fails_after_a_paid_round_is_missing_and_the_run_ends(tmp_path, act, at_once):
    provider = Moody(frozenset({14}), act)  # of round 1, behind its receipt
    plan = {"at_once": at_once}
    error = run_until_it_ends(tmp_path, provider, **plan)
    if error is not None:  # words that may mean the account: the second time they are believed to be about it
        assert "about the prompt" in _id_of(act) or "this image" in _id_of(act)
        assert run_until_it_ends(tmp_path, provider, **plan) is None
    assert len(missing(tmp_path)) == 1
    assert faults_of(tmp_path) == []
    asked = len(provider.requests)
    assert run_until_it_ends(tmp_path, provider, **plan) is None
    assert len(provider.requests) == asked


def _id_of(act: object) -> str:
    return next(name for name, each in FINAL.items() if each is act)


COMMON = {
    **{str(status): refuse(status) for status in (401, 402, 403, 404, 408, 413, 425, 429, 301)},
    "a code for the credit": refuse(400, b'{"error": {"code": "insufficient_quota", "message": "no"}}'),
    "a code for the key": refuse(400, b'{"error": {"code": "invalid_api_key", "message": "no"}}'),
    "a code for too many": refuse(400, b'{"error": {"code": "rate_limit_exceeded", "message": "no"}}'),
    "nobody there": vanish,
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


@pytest.mark.parametrize("act", [refuse(400), refuse(500), FINAL["zero images"]])
def test_a_run_of_which_nothing_was_carried_out_ends_at_its_first_refusal(tmp_path, act):
    provider = Moody(frozenset(range(1000)), act)
    assert isinstance(run_until_it_ends(tmp_path, provider), ProviderError)
    assert len(provider.known) == 1


def test_a_first_request_that_is_refused_a_second_time_is_believed_to_be_at_fault(tmp_path):
    provider = Moody(frozenset({0}), refuse(400))
    assert isinstance(run_until_it_ends(tmp_path, provider), ProviderRefusedError)
    assert run_until_it_ends(tmp_path, provider) is None
    assert missing(tmp_path) == ["i000/c000/n000000"]
    assert faults_of(tmp_path) == []


def test_eight_refusals_in_a_row_stop_the_run_and_all_eight_are_asked_for_again(tmp_path):
    provider = Moody(frozenset(range(14, 1000)), refuse(400))
    more = {"candidates": 20, "initial": 20, "min_usable": 0.1, "prototypes": 20}
    provider.fails = frozenset(range(45, 1000))
    error = run_until_it_ends(tmp_path, provider, **more)
    assert "8 requests one after another: once it draws again, --resume RUN goes on" in str(error)
    assert len(provider.known) == 45 + 8
    refused = provider.known[-8:]
    provider.well = True
    assert run_until_it_ends(tmp_path, provider, **more) is None
    assert [provider.posts.count(each) for each in refused] == [2] * 8
    assert missing(tmp_path) == []
    assert faults_of(tmp_path) == []


def test_an_api_that_fails_at_every_try_is_waited_for_at_three_requests(tmp_path):
    provider = Moody(frozenset(range(14, 1000)), refuse(503))
    error = run_until_it_ends(tmp_path, provider, candidates=20, initial=20, prototypes=20)
    assert "3 requests one after another" in str(error)
    assert len(provider.known) == 14 + 3


def test_an_image_that_the_api_does_not_take_is_one_refusal_however_often_it_is_varied(tmp_path):
    provider = Moody(frozenset(range(40, 50)), refuse(422))
    more = {"candidates": 20, "initial": 20, "prototypes": 2}
    assert run_until_it_ends(tmp_path, provider, **more) is None
    assert len(missing(tmp_path)) == 10
    assert faults_of(tmp_path) == []


def test_where_too_little_of_a_class_is_left_all_of_it_that_is_missing_is_asked_for_again(tmp_path):
    """The other class, asked in turn, has all that it was asked for."""
    provider = Moody(frozenset(range(2, 12, 2)), refuse(400))
    error = run_until_it_ends(tmp_path, provider)
    assert "too little is left of class 'cut'" in str(error)
    refused = [each for each in provider.known if provider.known.index(each) in provider.fails]
    provider.well = True
    assert run_until_it_ends(tmp_path, provider) is None
    assert [provider.posts.count(each) for each in refused] == [2] * len(refused)
    assert missing(tmp_path) == []
    assert faults_of(tmp_path) == []


def test_what_an_api_never_carries_out_lets_a_run_go_on_each_time_it_is_resumed(tmp_path):
    provider = Moody(frozenset(range(45, 57)), refuse(400))
    more = {"candidates": 20, "initial": 20, "min_usable": 0.1, "prototypes": 20}
    ended = [run_until_it_ends(tmp_path, provider, **more) for _ in range(3)]
    assert ended[-1] is None
    assert len(missing(tmp_path)) == 12
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
    assert "of class 'good': 0 of 1 came: the API refused" in said
    assert "maximum context length" in said


def test_texts_that_are_refused_one_by_one_are_missing_too(tmp_path):
    provider = Moody(frozenset({14}), refuse(400, TOO_LONG))
    assert run_until_it_ends(tmp_path, provider, dialect="chat") is None
    assert len(missing(tmp_path)) == 1
    assert faults_of(tmp_path) == []


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


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 413, 425, 429, 503])
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
        assert "too little is left of class 'cut'" in each.hold(calls[may_lose], FinalLoss())
