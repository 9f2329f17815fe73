"""The transcript: durable, chained, and each image stored once."""

from __future__ import annotations

import base64
import errno
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.errors import TranscriptError
from pcevolve.providers.codec import encode_form
from pcevolve.transcript.bodies import Bodies
from pcevolve.transcript.log import Transcript, read
from pcevolve.transcript.records import Failed
from support.examples import examples
from support.provider import FakeProvider, png
from support.runs import SmallRun, small_plan


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

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as pressed:
        if step == "write":
            transcript._file.write(b'{"half of a line')
            pressed.setattr(transcript, "_file", None)
        else:
            pressed.setattr(
                *{"fsync": ("os.fsync", interrupted)}.get(step, (transcript, "_index", interrupted))
            )
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


def test_what_was_answered_is_not_asked_again(tmp_path):
    run = SmallRun.open(tmp_path)
    run.evolve()
    run.close()
    silent = FakeProvider(lambda request: pytest.fail("asked again"))
    SmallRun.open(tmp_path, provider=silent).evolve()


def test_a_damaged_line_is_refused(tmp_path):
    run = SmallRun.open(tmp_path)
    run.close()
    log = tmp_path / "transcript" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b"opened", b"opEned"))
    with pytest.raises(TranscriptError, match="line 1 is damaged"):
        Transcript(tmp_path / "transcript")


def test_a_line_in_another_spelling_is_refused(tmp_path):
    run = SmallRun.open(tmp_path)
    run.close()
    log = tmp_path / "transcript" / "log.jsonl"
    first, *rest = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(json.dumps(json.loads(first)).encode() + b"\n" + b"".join(rest))
    with pytest.raises(TranscriptError, match="line 1 was edited"):
        list(read(tmp_path / "transcript"))


def test_a_line_that_says_something_else_in_the_right_spelling_is_refused_by_the_next(tmp_path):
    SmallRun.open(tmp_path).close()
    log = tmp_path / "transcript" / "log.jsonl"
    first, *rest = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first.replace(b"127.0.0.1:9", b"127.0.0.1:8") + b"".join(rest))
    with pytest.raises(TranscriptError, match="line 2 does not follow the line before it"):
        list(read(tmp_path / "transcript"))


def test_a_line_left_out_at_the_beginning_is_missed(tmp_path):
    SmallRun.open(tmp_path).close()
    log = tmp_path / "transcript" / "log.jsonl"
    line = json.loads(log.read_bytes().splitlines()[0]) | {"seq": 1}
    log.write_bytes(json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    with pytest.raises(TranscriptError, match="line 1 does not follow the line before it"):
        list(read(tmp_path / "transcript"))


@given(st.binary(max_size=300), st.lists(st.binary(min_size=48, max_size=90), max_size=3))
def test_any_body_comes_back_byte_for_byte(tmp_path_factory, raw, payloads):
    bodies = Bodies(tmp_path_factory.mktemp("bodies"))
    parts = [b'{"image":"' + base64.b64encode(each) + b'"}' for each in payloads]
    body = raw + b",".join(parts)
    assert bodies.get(bodies.put(body)) == body


def test_a_body_that_looks_like_a_placeholder_comes_back_as_it_was(tmp_path):
    bodies = Bodies(tmp_path)
    body = b'{"image":"{{sha256:' + b"0" * 64 + b'}}"}'
    assert bodies.get(bodies.put(body)) == body


def test_an_image_in_loose_base64_comes_back_in_its_own_spelling(tmp_path):
    """Bits behind the last byte may be anything, and only one spelling is made again of the bytes."""
    data = png(1) + bytes(-(len(png(1)) - 1) % 3)
    usual = base64.b64encode(data)
    assert usual.endswith(b"A==")
    loose = b'{"image":"' + usual[:-3] + b'B=="}'
    bodies = Bodies(tmp_path)
    assert bodies.get(bodies.put(loose)) == loose


def test_an_image_is_stored_once_whether_it_crosses_bare_as_data_url_in_a_form_or_alone(tmp_path):
    bodies = Bodies(tmp_path)
    text = base64.b64encode(png(1)).decode()
    _, in_form = encode_form({"prompt": "a scratch\r\non metal", "seed": "7"}, png(1))
    sent = [f'{{"image":"{text}"}}'.encode(), f'{{"image":"data:image/png;base64,{text}"}}'.encode(), in_form]
    refs = [bodies.put(body) for body in (*sent, png(1))]
    assert [bodies.get(ref) for ref in refs] == [*sent, png(1)]
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [png(1)]
    assert {ref.files for ref in refs} == {(refs[-1].sha256,)}


@settings(deadline=None, max_examples=examples(50))
@given(st.binary(max_size=300), st.text(max_size=50), st.binary(max_size=60))
def test_any_form_comes_back_byte_for_byte(tmp_path_factory, image, value, rest):
    bodies = Bodies(tmp_path_factory.mktemp("bodies"))
    _, body = encode_form({"prompt": value}, image)
    for each in (body, body + rest, body[:-1], body.replace(b"\r\n", b"\n")):
        assert bodies.get(bodies.put(each)) == each
