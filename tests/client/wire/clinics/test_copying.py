"""A copy of a record grows line by line, and takes nothing that does not follow."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pcevolve.errors import TranscriptError
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.chain import GENESIS, Line, digest
from pcevolve.public.transcript.records import Opened, Received, Record, to_event
from pcevolve.wire.clinics.copying import Copy
from support.provider import png

OUTPUT = png(1)


def write(*records: Record) -> bytes:
    head, lines = GENESIS, b""
    for number, record in enumerate(records):
        raw = Line(seq=number, prev=head, event=to_event(record)).encode()
        lines, head = lines + raw, digest(raw)
    return lines


LINES = write(
    Opened(run_id="0" * 32, api="http://127.0.0.1:9", dialect="a1111"),
    Received(slot="any", outputs=(hashlib.sha256(OUTPUT).hexdigest(),)),
)


def fetch(_digest: str) -> bytes:
    return OUTPUT


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "copy").mkdir()
    return RunFolder(tmp_path / "copy")


def test_a_copy_is_the_record_and_has_its_files(folder):
    copy = Copy(folder)
    copy.extend(LINES, fetch)
    copy.close()
    with pytest.raises(ValueError, match="closed file"):
        copy._file.write(b"more")
    assert folder.log.read_bytes() == LINES
    assert [each.read_bytes() for each in folder.bodies.iterdir()] == [OUTPUT]
    again = Copy(folder)
    assert (again.lines, again.head) == (2, digest(LINES.splitlines(keepends=True)[1]))


def test_a_line_that_a_crash_tore_off_is_fetched_again(folder):
    copy = Copy(folder)
    copy.extend(LINES, fetch)
    copy.close()
    folder.log.write_bytes(LINES[:-5])
    again = Copy(folder)
    assert again.lines == 1
    again.extend(LINES.splitlines(keepends=True)[1], fetch)
    assert folder.log.read_bytes() == LINES


@pytest.mark.parametrize("data", [LINES.splitlines(keepends=True)[1], LINES + LINES, b"{}\n", b"nonsense"])
def test_what_does_not_follow_is_refused(folder, data):
    with pytest.raises(TranscriptError, match=r"not a line|does not follow"):
        Copy(folder).extend(data, fetch)


def test_a_file_that_is_another_is_refused_before_its_line_is_taken(folder):
    copy = Copy(folder)
    with pytest.raises(TranscriptError, match="differs from its record"):
        copy.extend(LINES, lambda _: b"something else")
    assert copy.lines == 1
