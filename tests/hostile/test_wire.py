"""HTTP itself is broken: too slow, endless, contradictory, or somewhere else; what left is on record all the same."""

from __future__ import annotations

import itertools
import json
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from hostile.attempt import MESSAGES, Attempt, Case
from hostile.provider import MOMENTS, Act, Line, Moment, Request, honest, response

SLOW = (("timeout", 1.5),)
OK = b"HTTP/1.1 200 OK\r\n"
NO_ANSWER = "no usable answer from the API after"


def writes(make: Callable[[Request], bytes] | bytes, close: bool = True) -> Act:
    """Send these bytes, whatever they are, and hang up."""

    def act(line: Line, request: Request) -> None:
        line.send(make if isinstance(make, bytes) else make(request))
        if close:
            line.close()

    return act


def drips(begun: bytes) -> Act:
    """A byte at a time, without end."""
    return lambda line, request: line.drip(begun + b"a" * 1000)


def floods(head: bytes, block: bytes) -> Act:
    """Repeats a block until the client hangs up."""

    def act(line: Line, request: Request) -> None:
        line.send(head)
        for _ in itertools.repeat(None):
            if not line.send(block):
                return

    return act


def silence(line: Line, request: Request) -> None:
    """Say nothing and keep the line."""
    while not line.gone():
        line.drip(b"", 0)


def resets(line: Line, request: Request) -> None:
    """Reset the connection in place of an answer."""
    line.reset()


def resets_within(line: Line, request: Request) -> None:
    """Reset the connection in the middle of the body."""
    answer = response(honest(request))
    line.send(answer[: len(answer) - 20])
    line.reset()


def hangs_up_afterwards(line: Line, request: Request) -> None:
    """Answer as if the connection were to stay, then close it."""
    line.send(response(honest(request)))
    line.close()


def answers_twice(line: Line, request: Request) -> None:
    """An answer to the next request before it was made."""
    line.send(response(honest(request)) * 2)


def speaks_tls(line: Line, request: Request) -> None:
    """A handshake where none is expected."""
    hello = ssl.MemoryBIO()
    talk = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        talk.do_handshake()
    line.send(hello.read())
    line.close()


def send_chunked(body: bytes) -> bytes:
    """A response in chunks."""
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + body


def send_sizes(*sizes: bytes) -> Callable[[Request], bytes]:
    """Honest but for its length."""
    return lambda request: (
        OK + b"".join(b"Content-Length: " + each + b"\r\n" for each in sizes) + b"\r\n" + honest(request)
    )


def case(name: str, moment: Moment, act: Act, told: str = NO_ANSWER, **options: Any) -> Case:
    """Something that is no answer, of which the owner is told so."""
    return Case(name, moment, act, says=told, **options)


def sends(
    name: str, moment: Moment, answer: Callable[[Request], bytes] | bytes, told: str = NO_ANSWER
) -> Case:
    """Bytes that are no answer, written as they stand before the line is hung up."""
    return case(name, moment, writes(answer), told)


DRIPPING = {
    "a status line that drips": ("hello", b"HTTP/1.1"),
    "headers that drip": ("variation", OK + b"X-A: "),
    "a body that drips": ("first", OK + b"Content-Length: 99999\r\n\r\n{"),
    "a body without a length that drips": ("first", OK + b"\r\n{"),
    "chunks that drip": ("variation", send_chunked(b"5\r\n")),
}
TIMES: list[Case] = [
    *(case(name, moment, drips(begun), options=SLOW) for name, (moment, begun) in DRIPPING.items()),
    case("silence", "first", silence, options=SLOW),
    case("100 Continue for ever", "hello", floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), options=SLOW),
    case(
        "103 Early Hints for ever",
        "variation",
        floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        options=SLOW,
    ),
]
CUT, CUT_ERROR = "larger than|no usable", "larger than 1 MiB"
ENDLESS: list[Case] = [
    case("a body without end", "hello", floods(OK + b"\r\n", b" " * 2**20), CUT),
    case(
        "chunks without end",
        "first",
        floods(send_chunked(b""), b"100000\r\n" + b"A" * 2**20 + b"\r\n"),
        "larger than",
    ),
    case("headers without end", "variation", floods(OK, b"X-Padding: " + b"a" * 1000 + b"\r\n")),
    case("one header without end", "hello", floods(OK + b"X-Padding: ", b"a" * 2**16)),
    case("a status line without end", "first", floods(b"HTTP/1.1 200 ", b"O" * 2**16)),
    case("an error without end", "first", floods(b"HTTP/1.1 500 Oh\r\n\r\n", b"<p>" * 2**18), CUT_ERROR),
    case(
        "a busy signal without end",
        "variation",
        floods(b"HTTP/1.1 503 Oh\r\n\r\n", b"<p>" * 2**18),
        CUT_ERROR,
    ),
]
BOTH = OK + b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n0\r\n\r\n'
LENGTHS: list[Case] = [
    sends("a length that is too short", "first", send_sizes(b"7"), "contract"),
    sends("a length that is too long", "variation", send_sizes(b"999999")),
    sends("two lengths", "first", send_sizes(b"7", b"9")),
    sends("a length below nothing", "variation", send_sizes(b"-1")),
    sends("a length beyond all numbers", "hello", send_sizes(b"9" * 5000)),
    sends("a length in words", "first", send_sizes(b"many")),
    sends("a length and chunks", "first", BOTH, "contract|no usable"),
    sends("a chunk of absurd size", "first", send_chunked(b"F" * 15 + b"\r\nabc")),
    sends("a chunk of more digits than any", "variation", send_chunked(b"F" * 5000 + b"\r\nabc")),
    sends("a chunk below nothing", "first", send_chunked(b"-5\r\nabc")),
    sends(
        "a coding that nobody knows",
        "variation",
        lambda request: OK + b"Transfer-Encoding: rot13\r\n\r\n" + honest(request),
    ),
]
UPGRADE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nabc"
PROTOCOLS: list[Case] = [
    sends("an upgrade", "first", UPGRADE, "HTTP 101|no usable"),
    sends("no HTTP at all", "hello", b"220 mail.example ESMTP\r\n"),
    sends("HTTP/2", "first", b"\0\0\x12\x04\0\0\0\0\0" + bytes(18)),
    sends("a status of 099", "variation", b"HTTP/1.1 099 Oh\r\n\r\n"),
    sends("a status of 999", "first", b"HTTP/1.1 999 Oh\r\nContent-Length: 0\r\n\r\n", "HTTP 999"),
    sends("a status of 204", "first", b"HTTP/1.1 204 No Content\r\n\r\n", "nothing where JSON"),
    sends("a header that breaks the line", "first", b"HTTP/1.1 200 OK\r\nX-A: a\rb\nc\0d\r\n\r\n{}"),
    case("TLS on a plain port", "hello", speaks_tls),
    *(case("a reset for an answer", moment, resets) for moment in MOMENTS),
    case("a reset within the answer", "variation", resets_within),
    Case("an answer before the question", "hello", None, 2, "no model", greet=response(b"[]"), loses=True),
]
PATIENT = (("patience", 20), ("first_contact", 20))
SURVIVED: list[Case] = [
    Case(
        "a line that is cut after each answer", "first", hangs_up_afterwards, 0, options=PATIENT, loses=True
    ),
    Case("one reset", "variation", resets, 0, times=1, options=PATIENT),
    Case("an answer to the next question too", "first", answers_twice, 0, options=PATIENT, loses=True),
]
COOKIE = (
    "Set-Cookie: id=7; Path=/; Max-Age=99999",
    "Set-Cookie2: x=1",
    'Alt-Svc: h2=":443"',
    "Accept-CH: Sec-CH-UA",
    "Refresh: 0; url=/x",
)


@pytest.mark.parametrize("case", TIMES, ids=str)
def test_an_answer_that_takes_too_long_is_given_up_in_time(attempt: Attempt, case: Case):
    assert attempt(case).seconds < 60


@pytest.mark.parametrize("case", [*ENDLESS, *LENGTHS, *PROTOCOLS, *SURVIVED], ids=str)
def test_what_is_no_answer_is_told_in_one_line_and_a_line_that_breaks_is_mended(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_nowhere(attempt: Attempt, status: int):
    where = f"Location: http://127.0.0.1:{attempt.bystander.port}/v1/models"
    act = writes(lambda request: response(b"", f"{status} Moved", (where,)))
    moment = MOMENTS[status % 3]
    attempt(Case(f"a redirect with {status}", moment, act, says=f"HTTP {status}"))


def test_cookies_and_other_wishes_are_never_sent_back(attempt: Attempt):
    act = writes(lambda request: response(honest(request), headers=COOKIE), close=False)
    attempt(Case("cookies", "hello", act, code=0))
    attempt(Case("cookies", "first", act, code=0))


ABSURD = ("999999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 99999999999999999999 23:59:59 GMT",
          "Mon, 01 Jan 0001 00:00:00 -9999", "soon", "\xb2", "9" * 5000)  # fmt: skip


@pytest.mark.parametrize("asked", ABSURD, ids=lambda asked: asked[:30])
def test_a_storm_of_busy_signals_is_sat_out_no_longer_than_patience(attempt: Attempt, asked: str):
    status = "429 Too Many Requests" if len(asked) % 2 else "503 Service Unavailable"
    act = writes(lambda request: response(b"", status, (f"Retry-After: {asked}",)), close=False)
    ended = attempt(Case(f"Retry-After: {asked[:30]}", MOMENTS[len(asked) % 3], act, says="HTTP (429|503)"))
    assert ended.seconds < 60


def test_a_busy_signal_that_ends_is_sat_out(attempt: Attempt):
    act = writes(response(b"", "429 Too Many Requests", ("Retry-After: 0",)), close=False)
    attempt(Case("two busy signals", "variation", act, code=0, times=2, options=(("patience", 30),)))


REFUSALS: tuple[tuple[str, Moment], ...] = (
    ("400 Bad Request", "first"),
    ("503 Busy", "variation"),
    ("401 No", "hello"),
)
SAID = [*MESSAGES.values(), "x" * 60_000]


@pytest.mark.parametrize(
    ("message", "refusal"),
    [*zip(SAID, REFUSALS * 2, strict=False), *((SAID[0], each) for each in REFUSALS[1:])],
    ids=lambda value: f"{value[:10]!r}" if isinstance(value, str) else value[0],
)
def test_what_the_provider_says_is_shown_as_text(attempt: Attempt, message: str, refusal: tuple[str, Moment]):
    status, moment = refusal
    said = {"type": "server_error", "code": message[:200], "message": message, "request_id": "r1"}
    act = writes(response(json.dumps({"error": said}).encode(), status), close=False)
    patience = (("patience", 3), ("first_contact", 3))
    attempt(Case(f"{status} with {message[:10]!r}", moment, act, says=f"HTTP {status[:3]}", options=patience))
