"""Private images before a captioner: to this machine or a private address, or not at all unless the owner says so."""

from __future__ import annotations

import base64
import json

import pytest

from pcevolve.egress.retry import Patience
from pcevolve.egress.shown import ShownImages
from pcevolve.egress.transport import Address, HttpTransport, Incoming, Outgoing
from pcevolve.errors import ProviderRefusedError, ProviderReplyError, ProviderUnreachableError, UsageError
from support.online import LocalServer, Reply, said

NEAR = ["http://127.0.0.1:8001/v1", "http://localhost/v1", "https://10.1.2.3/v1", "http://[::1]:80/v1"]
FAR = [
    "https://api.example/v1",
    "http://8.8.8.8/v1",
    "http://localhost.example/v1",
    "http://127.0.0.1.example/v1",
    "http://2130706433/v1",
    "http://127.1/v1",
    "http://0x7f000001/v1",
    "http://[::ffff:8.8.8.8]/v1",
]
QUICK = Patience(seconds=60, first=30, sleep=lambda seconds: None)
PNG = b"\x89PNG private pixels"


class Nobody:
    """A transport that must not be asked."""

    def send(self, request: Outgoing) -> Incoming:
        raise AssertionError("a private image left")

    def close(self) -> None:
        raise AssertionError("nothing was opened")


@pytest.mark.parametrize("url", FAR)
def test_a_captioner_that_is_far_away_is_refused_before_it_can_be_asked(url: str):
    with pytest.raises(
        UsageError, match=r"would be sent the private images themselves.*--send-private-images"
    ):
        ShownImages(Address(url), "eyes", Nobody(), QUICK, sent_anyway=False)


@pytest.mark.parametrize("url", NEAR)
def test_one_on_this_machine_or_at_a_private_address_is_not(url: str):
    ShownImages(Address(url), "eyes", Nobody(), QUICK, sent_anyway=False)


@pytest.mark.parametrize("url", FAR)
def test_the_owner_may_say_that_it_may_be_anywhere(url: str):
    assert repr(ShownImages(Address(url), "eyes", Nobody(), QUICK, sent_anyway=True)) == "ShownImages"


def served(reply: Reply) -> tuple[LocalServer, ShownImages]:
    server = LocalServer(lambda heard: reply)
    address = Address(f"{server.address}/v1", "sk-5ecret-0123456789")
    return server, ShownImages(address, "eyes", HttpTransport(5.0), QUICK, sent_anyway=False)


def test_it_is_sent_the_question_and_the_image_and_nothing_else():
    server, shown = served(said(200, {"choices": [{"message": {"role": "assistant", "content": "A cut."}}]}))
    try:
        assert shown.described("What is it?", PNG) == "A cut."
    finally:
        server.close()
    (heard,) = server.heard
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    assert (heard.method, heard.path) == ("POST", "/v1/chat/completions")
    assert json.loads(heard.body) == {"model": "eyes", "messages": [{"role": "user", "content": content}]}
    assert heard.headers["user-agent"] == "pcevolve"


def test_a_captioner_that_points_elsewhere_is_not_followed():
    server, shown = served(Reply(307, b"", {"Location": "http://198.51.100.1/v1/chat/completions"}))
    try:
        with pytest.raises(ProviderRefusedError, match="answered 307"):
            shown.described("What is it?", PNG)
        assert len(server.heard) == 1
    finally:
        server.close()


def test_an_answer_that_is_no_chat_apis_is_refused():
    server, shown = served(said(200, {"caption": "A cut."}))
    try:
        with pytest.raises(ProviderReplyError, match="not as an OpenAI-compatible chat API"):
            shown.described("What is it?", PNG)
    finally:
        server.close()


def in_turn(*replies: Reply) -> tuple[LocalServer, ShownImages]:
    """A captioner that answers so, and with the last answer from then on."""
    left = list(replies)
    server = LocalServer(lambda heard: left.pop(0) if len(left) > 1 else left[0])
    address = Address(f"{server.address}/v1")
    return server, ShownImages(address, "eyes", HttpTransport(5.0), QUICK, sent_anyway=False)


A_CUT = said(200, {"choices": [{"message": {"content": "A cut."}}]})


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_captioner_that_is_busy_is_shown_the_same_image_again(status: int):
    server, shown = in_turn(said(status, {"error": "busy"}), said(status, {"error": "busy"}), A_CUT)
    try:
        assert shown.described("What is it?", PNG) == "A cut."
    finally:
        server.close()
    assert len({each.body for each in server.heard}) == 1
    assert len(server.heard) == 3


def test_one_that_refuses_is_not_asked_again():
    server, shown = in_turn(said(401, {"error": "no key"}), A_CUT)
    try:
        with pytest.raises(ProviderRefusedError, match="answered 401"):
            shown.described("What is it?", PNG)
    finally:
        server.close()
    assert len(server.heard) == 1


def test_one_without_credit_is_not_shown_private_images_over_and_over():
    server, shown = in_turn(
        said(429, {"error": {"message": "no money", "code": "insufficient_quota"}}), A_CUT
    )
    try:
        with pytest.raises(ProviderRefusedError, match="answered 429 no money"):
            shown.described("What is it?", PNG)
    finally:
        server.close()
    assert len(server.heard) == 1


def test_one_that_stays_busy_is_given_up_and_the_run_can_go_on_later():
    server, shown = in_turn(said(500, {"error": "out of memory"}))
    try:
        with pytest.raises(ProviderUnreachableError, match=r"after \d+ attempts: HTTP 500.*--resume RUN"):
            shown.described("What is it?", PNG)
    finally:
        server.close()
    assert len(server.heard) > 1
