"""Bodies: each image stored once, every byte back as it came, and no more memory than a body says."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.errors import TranscriptError
from pcevolve.public.transcript.bodies import Bodies, BodyRef
from pcevolve.wire.providers.codec import encode_form
from support.examples import examples
from support.provider import png


@given(st.binary(max_size=300), st.lists(st.binary(min_size=48, max_size=90), max_size=3))
def test_any_body_comes_back_byte_for_byte(tmp_path_factory, raw, payloads):
    bodies = Bodies(tmp_path_factory.mktemp("bodies"))
    parts = [b'{"image":"' + base64.b64encode(each) + b'"}' for each in payloads]
    body = raw + b",".join(parts)
    assert bodies.get(bodies.put(body)) == body


def test_no_stored_file_tells_when_it_was_written(tmp_path):
    """A measurement's time and the next file's would tell how long private work took, which is padded."""
    bodies = Bodies(tmp_path)
    bodies.keep(b"a measurement")
    bodies.put(b'{"image":"' + base64.b64encode(png(1)) + b'"}')
    assert {each.stat().st_mtime for each in tmp_path.iterdir()} == {315_532_800}


def test_a_body_that_looks_like_a_placeholder_comes_back_as_it_was(tmp_path):
    bodies = Bodies(tmp_path)
    body = b'{"image":"{{sha256:' + b"0" * 64 + b'}}"}'
    assert bodies.get(bodies.put(body)) == body


def test_a_long_word_that_is_no_image_stays_readable_in_the_log(tmp_path):
    body = b'{"prompt":"' + base64.b64encode(b"no image at all " * 9) + b'"}'
    ref = Bodies(tmp_path).put(body)
    assert (ref.text, ref.files) == (body.decode(), ())


@pytest.mark.parametrize(("length", "files"), [(2**18, 0), (2**18 + 1, 1)])
def test_what_is_long_without_its_images_is_no_part_of_the_log(tmp_path, length, files):
    """As of an API that escapes each slash of its base64: every command would read all of a run's images at once."""
    body = b'{"image":"' + (b"A\\/" * length)[: length - 12] + b'"}'
    ref = Bodies(tmp_path).put(body)
    assert (len(ref.files), Bodies(tmp_path).get(ref)) == (files, body)


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


def store(folder: Path, data: bytes) -> str:
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return digest


def test_a_body_is_what_it_says_and_no_byte_more(tmp_path: Path):
    digest = store(tmp_path / "bodies", b"abc")
    body = b"<abc>"
    ref = BodyRef(sha256=hashlib.sha256(body).hexdigest(), size=5, text=f"<{{{{raw-sha256:{digest}}}}}>")
    assert Bodies(tmp_path / "bodies").get(ref) == body
    for change in ({"size": 2}, {"size": 6}, {"sha256": digest}, {"text": ref.text.replace("<", "[")}):
        with pytest.raises(TranscriptError, match="is not what crossed the wire"):
            Bodies(tmp_path / "bodies").get(ref.model_copy(update=change))


@pytest.mark.parametrize("name", ["../log.jsonl", "/dev/zero", "a" * 63, "A" * 64, ""])
def test_a_name_that_is_no_digest_is_not_looked_for(tmp_path: Path, name: str):
    with pytest.raises(TranscriptError, match="no transcript file has the name"):
        Bodies(tmp_path / "bodies").file(name)


class Counting(Bodies):
    """Counts the files that are read."""

    count = 0

    def file(self, digest: str) -> bytes:
        self.count += 1
        return super().file(digest)


@pytest.mark.parametrize(("size", "most"), [(5, 2**29), (10**13, 5)])
def test_a_body_is_put_together_up_to_the_size_that_it_says_or_any_may_have(
    tmp_path: Path, monkeypatch, size: int, most: int
):
    monkeypatch.setattr("pcevolve.public.transcript.bodies.MOST_BYTES", most)
    digest, bodies = store(tmp_path / "bodies", b"abc"), Counting(tmp_path / "bodies")
    with pytest.raises(TranscriptError, match="is not what crossed the wire"):
        bodies.get(BodyRef(sha256="0" * 64, size=size, text=f"{{{{raw-sha256:{digest}}}}}" * 1000))
    assert bodies.count == 2


def test_a_file_that_only_says_that_it_is_large_is_refused_before_it_is_read(tmp_path: Path):
    bodies = Bodies(tmp_path / "bodies")
    digest = store(bodies.folder, b"abc")
    os.truncate(bodies.folder / digest, 2**33)
    with pytest.raises(TranscriptError, match="cannot be read: it is larger than 536,870,912 bytes"):
        bodies.file(digest)


def test_leftovers_of_a_crash_are_removed_and_nothing_else(tmp_path: Path):
    bodies = Bodies(tmp_path)
    kept, left = bodies.keep(b"kept"), bodies.keep(b"left")
    (tmp_path / f".{'0' * 64}.partial").touch()
    bodies.keep_only({kept})
    assert [each.name for each in tmp_path.iterdir()] == [kept] != [left]
