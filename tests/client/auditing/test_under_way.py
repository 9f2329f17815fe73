"""A call of the record that is under way: what is due next, and what it may have brought."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pcevolve.auditing.under_way import UnderWay
from pcevolve.errors import OtherModelError, ProviderReplyError, UnlistedHostError
from pcevolve.public.calls import Call
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.records import Answered, Failed
from pcevolve.wire.egress.transport import Outgoing
from support.runs import small_plan

CALL: Call = next(iter(small_plan().round(0)))


class Policy:
    """Bodies are names of links with commas between; a loss is final where ``borne``."""

    borne = True

    def follow_up(self, call, answers):
        return None

    def read_links(self, call, body):
        if body == b"broken":
            raise ProviderReplyError("no answer")
        if body == b"other":
            raise OtherModelError("of another model")
        return tuple(each for each in body.decode().split(",") if each)

    def link_request(self, link):
        if link == "unlisted":
            raise UnlistedHostError("not named")
        if link == "bad":
            raise ProviderReplyError("no address")
        return Outgoing("GET", link, (), b"")

    def read_outputs(self, call, body, linked):
        if body == b"broken":
            raise ProviderReplyError("no answer")
        outputs = [b"" if isinstance(each, Exception) else each for each in linked] or [body] * call.count
        return outputs, next((each for each in linked if isinstance(each, Exception)), None)

    def find_loss(self, outcomes):
        return SimpleNamespace(outcomes=list(outcomes)) if outcomes else None

    def is_borne(self, loss):
        return self.borne


def answered(slot: str = CALL.slot, status: int = 200) -> Answered:
    body = BodyRef(sha256="0" * 64, text="[]", size=2)
    return Answered(slot=slot, status=status, headers=(), body=body, wire_bytes=9)


@pytest.fixture
def under_way() -> UnderWay:
    return UnderWay(Policy(), CALL, Outgoing("POST", "https://api.example", (), b""), None)


@pytest.fixture
def slots(under_way: UnderWay) -> list[tuple[str, str]]:
    """Two links of an answer, each with its slot."""
    under_way.read(answered(), b"a,b")
    return list(under_way.answers[0].links)


def test_a_request_is_due_then_what_came_of_it_then_what_it_brought(under_way: UnderWay):
    assert under_way.due == f"request {CALL.slot}"
    under_way.waiting = CALL.slot
    assert under_way.due == f"what came of request {CALL.slot}"
    under_way.waiting = None
    under_way.read(answered(), b"")
    assert under_way.due == f"what {CALL.slot} brought"


def test_what_is_held_back_is_not_asked_for_and_brings_nothing(under_way: UnderWay):
    under_way.unsent = True
    assert under_way.due == f"what {CALL.slot} brought"
    assert under_way.list_brought() == [[b"", b""]]


def test_links_are_followed_in_their_order_and_dead_ones_again(under_way: UnderWay, slots):
    first, second = slots
    assert under_way.fetching
    assert under_way.due == f"an image that the answer to {CALL.slot} points to"
    assert (under_way.points_to(*first), under_way.points_to(*second)) == (True, False)
    assert not under_way.points_to(first[0], "https://elsewhere.example")
    under_way.asked = first[1]
    under_way.read(answered(first[0]), b"image")
    assert (under_way.points_to(*first), under_way.points_to(*second)) == (False, True)
    assert under_way.list_brought() == []
    under_way.found[second] = ProviderReplyError("gone")
    assert under_way.points_to(*second)
    assert not under_way.fetching
    assert under_way.list_brought() == []  # nothing failed, so the rest may come
    under_way.own.append(answered())
    assert under_way.list_brought() == [[b"image", b""]]
    under_way.found[second] = b"other"
    assert under_way.list_brought() == [[b"image", b"other"]]


def test_an_answer_of_another_model_or_host_ends_the_run_and_brings_nothing(under_way: UnderWay):
    for body in (b"other", b"a,unlisted"):
        under_way.read(answered(), body)
        assert (under_way.answers[-1].bodies, under_way.answers[-1].links) == ([body], None)
        assert under_way.brought(under_way.answers[-1]) is None
    assert (under_way.list_brought(), under_way.due) == ([], f"request {CALL.slot}")


def test_a_link_that_cannot_be_followed_is_a_reason_in_its_place(under_way: UnderWay):
    under_way.read(answered(), b"bad")
    (reason,) = under_way.answers[0].links
    assert str(reason) == "no address"
    assert not under_way.fetching


def test_a_call_is_lost_where_its_last_attempt_brought_nothing_and_is_final(under_way: UnderWay):
    assert not under_way.is_lost()
    under_way.own.append(Failed(slot=CALL.slot, reason="cut off"))
    assert under_way.is_lost()
    assert under_way.list_brought() == [[b"", b""]]
    under_way.since = 1  # it is asked for again
    assert not under_way.is_lost()
    under_way.own.append(answered())
    under_way.read(answered(), b"image")
    assert not under_way.is_lost()
    under_way.read(answered(), b"broken")
    assert under_way.is_lost()
    under_way.policy.borne = False
    assert not under_way.is_lost()
    assert under_way.list_brought() == []
