"""The transcript: durable, chained, one spelling for each line, and a clear word for those of another version."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from pcevolve.errors import TranscriptError
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.log import Transcript, read
from pcevolve.public.transcript.records import Failed, RecordedRelease, Sent
from support.paid import make_paid_run
from support.runs import RUN_ID, SmallRun, small_plan

ENDLESS = ["[" * 200_000, '{"seq":' * 200_000, '{"seq":' + "9" * 10_000 + "}", "NaN"]
"""Lines that a parser could be kept busy with for ever, or none."""


@pytest.mark.parametrize("at_once", [1, 5])
def test_a_run_killed_at_any_line_continues_to_the_same_releases_and_images(tmp_path, at_once):
    plan = small_plan(at_once=at_once)
    reference = SmallRun.open(tmp_path / "a", plan)
    expected = reference.finish()
    receipts = reference.account.receipts()
    lines = (tmp_path / "a" / "transcript" / "log.jsonl").read_bytes().splitlines(keepends=True)
    for cut in range(2, len(lines)):
        log = tmp_path / "a" / "transcript" / "log.jsonl"
        log.write_bytes(b"".join(lines[:cut]) + lines[cut][: len(lines[cut]) // 2])
        again = SmallRun.open(tmp_path / "a", plan)
        assert again.evolve() == expected
        assert again.account.receipts() == receipts
        again.close()


@pytest.mark.parametrize("step", ["write", "fsync", "index"])
def test_an_append_that_was_interrupted_is_gone_on_with(tmp_path, monkeypatch, step):
    """Ctrl-C reaches one thread; another that waits for its answer writes after it."""
    run = SmallRun.open(tmp_path)
    transcript, lines = run.transcript, len(run.transcript.entries)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as pressed:
        if step == "write":
            transcript._file.write(b'{"half of a line')
            pressed.setattr(transcript, "_file", None)
        else:
            pressed.setattr(*{"fsync": ("os.fsync", interrupt)}.get(step, (transcript, "_index", interrupt)))
        with pytest.raises((KeyboardInterrupt, AttributeError)):
            transcript.append(Failed(slot="one", reason="cut off"))
    transcript.append(Failed(slot="two", reason="cut off"))
    slots = [each.record.slot for each in list(read(tmp_path / "transcript"))[lines:]]
    assert slots == (["two"] if step == "write" else ["one", "two"])
    assert transcript.entries == list(read(tmp_path / "transcript"))


def test_a_disk_that_takes_half_of_a_line_breaks_no_chain(tmp_path, monkeypatch):
    run = SmallRun.open(tmp_path)
    transcript, lines = run.transcript, len(run.transcript.entries)
    file = transcript._file

    class NearlyFull:
        """Takes ten bytes, and then none."""

        taken = False

        def write(self, data: bytes) -> int:
            if self.taken:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.taken = True
            return int(file.write(data[:10]))

        def fileno(self) -> int:
            return int(file.fileno())

    with monkeypatch.context() as full:
        full.setattr(transcript, "_file", NearlyFull())
        with pytest.raises(OSError, match="No space left"):
            transcript.append(Failed(slot="one", reason="cut off"))
    transcript.append(Failed(slot="two", reason="cut off"))
    assert [each.record.slot for each in list(read(tmp_path / "transcript"))[lines:]] == ["two"]


def first_changed(line: bytes) -> bytes:
    return line.replace(b"127.0.0.1:9", b"127.0.0.1:8")


def first_left_out(line: bytes) -> bytes:
    return json.dumps(json.loads(line) | {"seq": 1}, sort_keys=True, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: line.replace(b"opened", b"opEned"), "line 1 is damaged"),
        (lambda line: json.dumps(json.loads(line)).encode() + b"\n", "line 1 was edited"),
        (first_changed, "line 2 does not follow the line before it"),
        (first_left_out, "line 1 does not follow the line before it"),
        *((lambda line, text=text: text.encode() + b"\n", "line 1 is damaged") for text in ENDLESS),
    ],
)
def test_a_line_that_is_damaged_edited_or_left_out_is_refused(tmp_path, change, said):
    SmallRun.open(tmp_path).close()
    log = tmp_path / "transcript" / "log.jsonl"
    first, *rest = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(change(first) + b"".join(rest))
    for read_all in (Transcript, lambda folder: list(read(folder))):
        with pytest.raises(TranscriptError, match=said):
            read_all(tmp_path / "transcript")


def test_a_log_that_only_says_that_it_is_large_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "log.jsonl").touch()
    os.truncate(tmp_path / "log.jsonl", 2**36)
    with pytest.raises(TranscriptError, match="cannot be read: it is larger than 4,294,967,296 bytes"):
        list(read(tmp_path))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_paid_run(tmp_path, small_plan())


def test_a_request_whose_process_was_killed_is_ended_when_the_run_goes_on(tmp_path: Path):
    run = SmallRun.open(tmp_path)
    run.close()
    log = tmp_path / "transcript" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    asked = next(index for index, line in enumerate(lines) if json.loads(line)["event"]["kind"] == "sent")
    log.write_bytes(b"".join(lines[: asked + 1]))
    opened = Transcript(tmp_path / "transcript")
    opened.close()
    last, before = opened.entries[-1].record, opened.entries[-2].record
    assert isinstance(before, Sent)
    assert last == Failed(slot=before.slot, reason="cut off")


def test_a_record_has_the_receipts_that_were_put_on_it_and_no_other(tmp_path: Path):
    run = SmallRun.open(tmp_path, small_plan(method="pcevolve"))
    run.transcript.append(RecordedRelease(receipt=(paid := Receipt(RUN_ID, 1, (), (), "replace-one"))))
    assert run.transcript.has(paid)
    assert not run.transcript.has(Receipt(RUN_ID, 2, (), (), "replace-one"))
    run.close()
    opened = Transcript(tmp_path / "transcript")
    assert opened.has(paid)
    opened.close()
