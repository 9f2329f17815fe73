"""Lines of a record, each taken once and in order, and one key for all requests."""

from __future__ import annotations

import pytest

from pcevolve.auditing.lines import KeyLength, Lines, OutOfPlaceError, RecordEndsError, collect, describe
from pcevolve.errors import TranscriptError
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import BodyRef
from pcevolve.transcript.records import Answered, Failed, Opened, Planned, Sent


def answered(slot: str, status: int = 200) -> Answered:
    return Answered(
        slot=slot, status=status, headers=(), body=BodyRef(sha256="0" * 64, text="{}", size=2), wire_bytes=9
    )


def test_lines_are_taken_once_in_order_and_one_out_of_place_is_named(finished):
    lines = Lines(RunReader.strict(finished()).entries)
    assert lines.take(Opened, "the opening").kind == "opened"
    with pytest.raises(OutOfPlaceError, match=r"^line 2: 'sent' \S+ stands where a plan is due$"):
        lines.take(Planned, "a plan")
    assert (lines.place, lines.count_sent()) == (1, 0)
    lines.take(Sent, "a request")
    assert (lines.place, lines.count_sent()) == (2, 1)
    assert str(lines.misplaced("x", last=True)).startswith("line 2: ")
    lines.place = len(lines.entries)
    with pytest.raises(RecordEndsError):
        lines.next()


def test_a_key_may_change_at_first_and_after_what_brought_no_success():
    key = KeyLength()
    assert key.fault(4) is None  # the first request
    assert key.fault(9) is None  # nothing has succeeded yet
    assert key.exchanged == 1
    key.note(answered("hello"), planned=[])
    assert key.fault(9) is None
    assert key.fault(8) == "was sent with another key than the request before it, which had succeeded"
    key.note(Failed(slot="i000/c000/n000000", reason="cut off"), planned=["i000/c000/n000000"])
    assert key.fault(7) is None
    key.note(answered("i000/c000/n000000", 429), planned=["i000/c000/n000000"])
    assert key.fault(6) is None
    key.note(answered("i000/c000/n000001"), planned=["i000/c000/n000000", "i000/c000/n000001"])
    assert key.failed == {"i000/c000/n000000"}
    key.note(answered("i000/c000/n000000"), planned=["i000/c000/n000000"])
    assert key.fault(5) is not None
    assert key.exchanged == 5


def test_a_request_without_a_key_is_another_than_one_with_it():
    key = KeyLength()
    assert (key.fault(None), key.exchanged) == (None, 0)
    key.note(answered("hello"), planned=[])
    assert key.fault(None) is None
    assert key.fault(3) is not None


def test_faults_are_collected_until_something_stops_the_check():
    def found(error: Exception | None):
        yield "first"
        if error is not None:
            raise error
        yield "second"

    assert collect(found(None)) == ("first", "second")
    assert collect(found(TranscriptError("damaged"))) == ("first", "damaged")
    assert collect(found(KeyError("x")))[1] == "the record cannot be made sense of (KeyError)"
    with pytest.raises(AssertionError):
        collect(found(AssertionError()))
    assert describe(FileNotFoundError(2, "No such file", "log")) == "log cannot be read: No such file"
