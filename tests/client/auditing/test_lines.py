"""Lines of a record, each taken once and in order, and one key for all requests."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pcevolve.auditing.lines import (
    KeyLength,
    Lines,
    OutOfPlaceError,
    RecordEndsError,
    collect,
    describe,
    find_body_faults,
)
from pcevolve.errors import TranscriptError
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered, Failed, Opened, Planned, Sent


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


def faults_of_bodies(root: Path) -> list[str]:
    return list(find_body_faults(RunReader.lenient(root)))


def cut_off(root: Path) -> None:
    """Leave a record as a killed process does: without its last line."""
    log = root / "transcript" / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


def test_only_a_record_that_was_cut_off_may_hold_what_was_stored_and_is_not_on_record(finished):
    root = finished()
    bodies = root / "transcript" / "bodies"
    stored, half = bodies / hashlib.sha256(b"late").hexdigest(), bodies / f".{'0' * 64}.partial"
    assert faults_of_bodies(root) == []
    for path in (stored, half):
        path.write_bytes(b"late")
    assert faults_of_bodies(root) == [
        f"transcript/bodies/{path.name} belongs to no record" for path in sorted((half, stored))
    ]
    cut_off(root)
    assert faults_of_bodies(root) == []
    for name in ("1" * 64, f".{'0' * 63}.partial", "x"):
        (other := bodies / name).write_bytes(b"late")
        assert faults_of_bodies(root) == [f"transcript/bodies/{name} belongs to no record"]
        other.unlink()


def test_a_stored_file_that_is_damaged_or_missing_is_told_whether_the_record_was_cut_off_or_not(finished):
    root = finished()
    run = RunReader.strict(root)
    read = {
        name
        for each in run.entries
        if isinstance(each.record, Sent | Answered)
        for name in each.record.body.files
    }
    other = min(run.files - {f"bodies/{each}" for each in read} - {"log.jsonl"})
    path = root / "transcript" / other
    for _ in range(2):
        held = path.read_bytes()
        path.write_bytes(held + b"x")
        assert [each for each in faults_of_bodies(root) if each.startswith(f"transcript/{other}: ")]
        path.unlink()
        assert f"transcript/{other} is missing" in faults_of_bodies(root)
        path.write_bytes(held)
        assert faults_of_bodies(root) == []
        cut_off(root)
