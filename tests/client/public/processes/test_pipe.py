"""Messages between two processes: whole or not at all, bounded, and one error for an end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from pcevolve.public.processes import pipe
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError, open_conversation


@pytest.fixture
def ends() -> Iterator[tuple[Pipe, Pipe]]:
    first, second = open_conversation()
    made = Pipe(*first), Pipe(*second)
    yield made
    for each in made:
        try:
            each.close()
        except OSError:  # the test closed it
            continue


def test_messages_arrive_in_their_order_and_answers_come_back(ends):
    one, other = ends
    one.send("ask", '{"question": "ja?\\n"}')
    one.send("close")
    assert [other.receive(), other.receive()] == [("ask", '{"question": "ja?\\n"}'), ("close", "{}")]
    other.send("done", "1")
    assert one.receive() == ("done", "1")


def test_a_message_longer_than_a_pipe_holds_arrives_whole(ends):
    one, other = ends
    body = '"' + "x" * 3_000_000 + '"'
    thread = threading.Thread(target=one.send, args=("long", body))
    thread.start()
    assert other.receive() == ("long", body)
    thread.join()


def test_whoever_is_gone_is_found_gone_by_who_asks_and_by_who_waits(ends):
    one, other = ends
    other.close()
    with pytest.raises(GoneError):
        one.receive()
    with pytest.raises(GoneError):
        one.send("ask")


def test_half_a_message_is_none(ends):
    one, other = ends
    os.write(one._writes, b'release {"iteration"')
    one.close()
    with pytest.raises(GoneError):
        other.receive()


@pytest.mark.parametrize(
    "line", [b"{}\n", b"\n", b"release\n", b"two words {}\n"[:3] + b"\xff {}\n", b"../x {}\n"]
)
def test_a_line_that_is_no_message_is_refused(ends, line):
    one, other = ends
    os.write(one._writes, line)
    with pytest.raises(PipeError):
        other.receive()


def test_no_line_is_read_that_is_longer_than_a_message_may_be(ends, monkeypatch):
    assert pipe.MOST_BYTES == 134_217_728
    monkeypatch.setattr(pipe, "MOST_BYTES", 100)
    one, other = ends
    one.send("long", '"' + "x" * 200 + '"')
    with pytest.raises(PipeError, match="more than 100 bytes"):
        other.receive()
