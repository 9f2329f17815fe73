"""A capture and a transcript agree to the byte, or the audit says where they do not."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from client.auditing.captured import (
    ANSWERS,
    UNRECORDED,
    UNSENT,
    Change,
    Line,
    audit_capture,
    change_lines,
    faults,
    last,
    of_flow,
    other_body,
    renumber,
    rewrite,
)
from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers.dialect import WireRequest
from support.forge import Event, forge
from support.paid import make_paid_run
from support.provider import FakeProvider
from support.recorder import SCRIPT, Recorded
from support.runs import ADDRESS, small_plan

EMPTY = hashlib.sha256(b"").hexdigest()


def test_an_honest_capture_holds_and_every_exchange_is_looked_at(captured: Path):
    found = reconcile(RunReader.strict(captured), captured / "capture.jsonl")
    requests = RunReader.strict(captured).requests
    assert [each.faults for each in found] == [(), (), (), ()]
    assert [each.checked for each in found] == [requests] * 4
    assert requests > 5


TROUBLES = ["unsent", "broken", "unpassed", "unanswered", "refused"]


@pytest.mark.parametrize("trouble", ["", *TROUBLES])
def test_what_is_under_way_at_once_may_reach_the_recorder_in_any_order(tmp_path: Path, trouble: str):
    turns = iter([""] * 5 + ["", trouble, "", "", "", "", ""] * 3)
    root = audit_capture(
        tmp_path, lambda request: next(turns, ""), candidates=6, initial=6, batch=1, at_once=4
    )
    assert faults(root) == {}
    in_the_capture(root, lambda numbers: [numbers[0], *reversed(numbers[1:5]), *numbers[5:]])
    assert faults(root) == {}


def test_an_attempt_that_failed_late_is_not_taken_for_the_one_that_was_sent_after_it(tmp_path: Path):
    turns = iter([""] * 6 + ["unsent"])

    def late(request: Outgoing) -> str:
        if trouble := next(turns, ""):
            time.sleep(0.5)  # all others that are under way at once have left and come back by now
        return trouble

    assert faults(audit_capture(tmp_path, late, candidates=6, initial=6, batch=1, at_once=4)) == {}


REFUSED = Incoming(400, (("Content-Type", "application/json"),), b'{"error": "no"}')


def audit_loss(root: Path, trouble: str, answer: Callable[[Outgoing], Incoming | None]) -> Path:
    """A run whose 15th request is answered otherwise, or troubled, at every try."""
    known: list[bytes] = []

    def is_it(request: Outgoing) -> bool:
        if request.body not in known:
            known.append(request.body)
        return known.index(request.body) == 15

    api = FakeProvider(lambda request: answer(request) if is_it(request) else None)
    provider = Recorded(
        api, root / "capture.jsonl", ADDRESS.key or "", lambda each: trouble if is_it(each) else ""
    )
    make_paid_run(root, small_plan(candidates=6, initial=6, batch=1), provider)
    assert EMPTY in {each for outputs in RunReader.strict(root).outputs.values() for each in outputs}
    return root


@pytest.mark.parametrize(
    ("trouble", "answer"),
    [
        ("", REFUSED),
        ("", Incoming(500, (), b"{}")),
        ("", Incoming(200, (), b'{"images": []}')),
        ("refused", None),
        ("unpassed", None),
    ],
)
def test_what_the_api_did_not_carry_out_is_missing_by_the_capture_too(
    tmp_path: Path, trouble: str, answer: Incoming | None
):
    assert faults(audit_loss(tmp_path, trouble, lambda request: answer)) == {}


def test_a_good_answer_that_is_on_record_as_lost_at_every_try_is_in_the_capture(tmp_path: Path):
    told = faults(audit_loss(tmp_path, "unanswered", lambda request: None))
    assert "is on record as missing, and an answer to it had come" in told[ANSWERS][0]


@pytest.mark.parametrize("status", [400, 500])
def test_a_good_answer_that_is_on_record_as_a_refusal_is_in_the_capture(tmp_path: Path, status: int):
    root = audit_loss(tmp_path, "", lambda request: Incoming(status, REFUSED.headers, REFUSED.body))

    def come(lines: list[Line]) -> list[Line]:
        return [
            {**each, "status": 200} if each["event"] == "answer" and each["status"] == status else each
            for each in lines
        ]

    rewrite(root, come)
    assert "its answer differs from what came" in faults(root)[ANSWERS][0]


def in_the_capture(root: Path, order: Callable[[list[int]], list[int]]) -> None:
    """Number the flows of a capture anew, in another order."""

    def change(lines: list[Line]) -> list[Line]:
        numbers = sorted({line["flow"] for line in lines if "flow" in line})
        place = {number: number_ for number_, number in zip(numbers, order(numbers), strict=True)}
        return [{**line, "flow": place[line["flow"]]} if "flow" in line else line for line in lines]

    rewrite(root, change)


def test_the_recorder_shares_no_code_with_the_client():
    assert not re.search(r"^\s*(from|import) pcevolve", SCRIPT.read_text(), re.MULTILINE)


def test_the_key_is_not_in_the_capture(captured: Path):
    text = (captured / "capture.jsonl").read_text()
    assert r'["Authorization","Bearer\n(hidden)"]' in text
    assert str(ADDRESS.key) not in text


def test_each_spelling_of_the_key_is_hidden_by_a_mark_of_its_own_that_no_header_can_hold(tmp_path: Path):
    recorder = Recorded(FakeProvider(), tmp_path / "capture.jsonl", "user:word").recorder
    shown = ["user:word", "Bearer user:word", "Basic dXNlcjp3b3Jk", "Bearer word"]
    fields = tuple((b"Authorization", each.encode()) for each in shown)
    marks = [value for _, value in recorder._headers(SimpleNamespace(fields=fields))]
    assert marks == ["\n(hidden)", "Bearer\n(hidden)", "Basic\n(hidden)", "Bearer word"]


def test_what_cannot_be_written_down_is_not_passed_on(tmp_path: Path):
    recorded = Recorded(FakeProvider(), tmp_path / "capture.jsonl", "")
    full = SimpleNamespace(write=Mock(side_effect=OSError("no space left on device")))
    recorded.recorder._capture = full
    with pytest.raises(OSError, match="no space left"):
        recorded.send(ADDRESS.outgoing(WireRequest("GET", "/v1/models")))
    assert recorded.stopped == 1
    assert recorded.provider.requests == []


def test_attempts_that_failed_may_have_reached_the_recorder_or_not_in_any_mixture(tmp_path: Path):
    pairs = [trouble for pair in itertools.permutations(TROUBLES, 2) for trouble in (*pair, "")]
    turns = iter(["", *pairs])  # patience with the first contact is short
    root = audit_capture(tmp_path, lambda request: next(turns, ""), candidates=9)
    assert next(turns, "none left") == "none left"
    assert faults(root) == {}


def test_a_run_that_was_killed_and_resumed_agrees_with_a_recorder_that_was_restarted(tmp_path: Path):
    def kill_later() -> Iterator[str]:
        yield from ["", "", ""]
        raise KeyboardInterrupt

    turns = kill_later()
    with pytest.raises(KeyboardInterrupt):
        audit_capture(tmp_path, lambda request: next(turns))
    with (tmp_path / "capture.jsonl").open("ab") as file:
        file.write(b'{"event":"request","torn')
    assert faults(audit_capture(tmp_path)) == {}


def add_request(lines: list[Line]) -> list[Line]:
    extra = renumber(
        change_lines(of_flow(lines, 2), 2, "request", body=other_body(b"secret")), last(lines) + 1
    )
    return lines + extra


def send_twice_at_once(lines: list[Line]) -> list[Line]:
    later = [
        {**line, "flow": line["flow"] + (line["flow"] > 3)} if "flow" in line else line for line in lines
    ]
    return later + renumber(of_flow(lines, 3), 4)


def with_headers(change: Callable[[list[list[str]]], list[list[str]]]) -> Change:
    return lambda lines: change_lines(lines, 3, "request", headers=change(of_flow(lines, 3)[0]["headers"]))


def with_key(shown: str) -> Change:
    return with_headers(
        lambda own: [[name, shown if name == "Authorization" else value] for name, value in own]
    )


def with_swapped_requests(lines: list[Line]) -> list[Line]:
    moved = [(3, 4), (4, 3)]
    return [line for line in lines if line.get("flow") not in (3, 4)] + [
        line for old, new in moved for line in renumber(of_flow(lines, old), new)
    ]


def with_one_byte(lines: list[Line]) -> list[Line]:
    body = base64.b64decode(of_flow(lines, 3)[0]["body"]["base64"])
    return change_lines(lines, 3, "request", body=other_body(body[:-1] + b" "))


def broken_off(lines: list[Line]) -> list[Line]:
    head = {key: of_flow(lines, 3)[0][key] for key in ("method", "target", "version", "headers")}
    failed = {"event": "failed", "time": 0, "flow": 3, "reason": "gone", "request": {**head, "body": None}}
    return [*(line for line in lines if line.get("flow") != 3), failed]


def answering(**values: object) -> Change:
    return lambda lines: change_lines(lines, 3, "answer", **values)


def requesting(**values: object) -> Change:
    return lambda lines: change_lines(lines, 3, "request", **values)


NOT_THE_ONE = "its answer differs from what came"
OTHERWISE: dict[str, tuple[Change, str, str]] = {
    "added": (add_request, UNRECORDED, r"line \d+ \('POST /v1/.*'\) was sent and is not on record"),
    "sent twice": (
        lambda lines: lines + renumber(of_flow(lines, 3), last(lines) + 1),
        UNRECORDED,
        "was sent and is not on record",
    ),
    "sent twice at once": (send_twice_at_once, UNRECORDED, "was sent 2 times, and is on record 1 times"),
    "header added": (with_headers(lambda own: [*own, ["X-Extra", "1"]]), UNRECORDED, "header 'X-Extra'"),
    "another key": (with_key("Bearer smuggled"), UNRECORDED, "header 'Authorization'"),
    "the key in another spelling": (with_key("Basic\n(hidden)"), UNRECORDED, "header 'Authorization'"),
    "a word in the place of the key": (with_key("(hidden)"), UNRECORDED, "header 'Authorization'"),
    "headers in another order": (with_headers(lambda own: own[::-1]), UNRECORDED, "header order"),
    "requests in another order": (with_swapped_requests, UNRECORDED, "another place in the order"),
    "one byte changed": (with_one_byte, UNRECORDED, "is on record: body$"),
    "another target": (requesting(target="/v2"), UNRECORDED, "is on record: target"),
    "another method": (requesting(method="PUT"), UNRECORDED, "is on record: method"),
    "an older protocol": (requesting(version="HTTP/1.0"), UNRECORDED, "record: version"),
    "broken off": (broken_off, UNRECORDED, "body, which broke off"),
    "not sent": (
        lambda lines: [line for line in lines if line.get("flow") != 3],
        UNSENT,
        "on record as answered, and was not sent",
    ),
    "another status": (answering(status=201), ANSWERS, NOT_THE_ONE),
    "another header of the answer": (
        answering(headers=[["content-type", "text/html"]]),
        ANSWERS,
        NOT_THE_ONE,
    ),
    "another answer": (answering(body=other_body(b"{}")), ANSWERS, NOT_THE_ONE),
    "no answer": (
        lambda lines: [line for line in lines if (line.get("flow"), line["event"]) != (3, "answer")],
        ANSWERS,
        NOT_THE_ONE,
    ),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_crossed_the_wire_otherwise_than_recorded_is_told_without_a_headers_value(
    copied: Path, name: str
):
    change, claim, message = OTHERWISE[name]
    rewrite(copied, change)
    found = faults(copied)
    assert list(found) == [claim]
    assert len(found[claim]) == 1
    assert re.search(message, found[claim][0])
    assert "smuggled" not in str(found)


def without(events: list[Event]) -> list[Event]:
    """A client that keeps silent about one exchange, as if it had not been."""
    sent = [index for index, event in enumerate(events) if event["kind"] == "sent"]
    return events[: sent[3]] + events[sent[3] + 2 :]


def twice(events: list[Event]) -> list[Event]:
    sent = [index for index, event in enumerate(events) if event["kind"] == "sent"]
    return events[: sent[3] + 2] + events[sent[3] :]


def swap_requests(events: list[Event]) -> list[Event]:
    """Two whole requests, each with what came of it."""
    first, second, end = [index for index, event in enumerate(events) if event["kind"] == "sent"][2:5]
    return [*events[:first], *events[second:end], *events[first:second], *events[end:]]


LIES = {
    "silent about one": (without, UNRECORDED),
    "one too many": (twice, UNSENT),
    "another order": (swap_requests, UNRECORDED),
    "an answered one as failed": (
        lambda events: [
            {"kind": "failed", "slot": each["slot"], "reason": "cut off"} if index == 5 else each
            for index, each in enumerate(events)
        ],
        None,
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_transcript_that_lies_is_told(copied: Path, name: str):
    change, claim = LIES[name]
    forge(copied, change)
    assert (claim in faults(copied)) if claim else faults(copied) == {}
    told = [each.claim for each in reconcile(RunReader.strict(copied), copied / "capture.jsonl")][-1]
    # It asks again as often as it likes, so how often it did is told.
    assert told == ANSWERS + ("" if claim else ", apart from 1 that came and are on record as lost")


def test_what_went_to_another_host_is_beyond_the_recorder_and_said_to_be(copied: Path):
    def add_fetch(events: list[Event]) -> list[Event]:
        sent = next(index for index, event in enumerate(events) if event["kind"] == "sent")
        other = {**events[sent], "url": "https://images.example/1.png"}
        return [*events[:-1], other, events[sent + 1], events[-1]]

    forge(copied, add_fetch)
    found = reconcile(RunReader.strict(copied), copied / "capture.jsonl")
    assert [each.faults for each in found] == [()] * 4
    assert "apart from 1 to other hosts" in found[2].claim
