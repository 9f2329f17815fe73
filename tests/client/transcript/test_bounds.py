"""A record of a stranger's: what it claims does not become memory, and whatever is wrong is one sentence."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from pcevolve.errors import TranscriptError
from pcevolve.transcript import RunReader
from pcevolve.transcript.bodies import Bodies, BodyRef
from pcevolve.transcript.log import read
from support.bounded import run_bounded


def stored(folder: Path, data: bytes) -> str:
    folder.mkdir(exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return digest


@pytest.mark.system
@pytest.mark.parametrize("form", ["{{{{sha256:{}}}}}", "{{{{raw-sha256:{}}}}}"])
def test_a_body_that_names_one_file_a_million_times_is_not_put_together(tmp_path: Path, form: str):
    digest = stored(tmp_path / "bodies", bytes(2**20))
    ref = BodyRef(sha256="0" * 64, size=10**13, text=form.format(digest) * 20_000)
    (tmp_path / "ref.json").write_text(ref.model_dump_json())
    said = run_bounded(
        """
from pathlib import Path
from pcevolve.errors import TranscriptError
from pcevolve.transcript.bodies import Bodies, BodyRef
limit(1.5)
try:
    Bodies(Path(sys.argv[1])).get(BodyRef.model_validate_json(Path(sys.argv[2]).read_bytes()))
except TranscriptError as error:
    print(error)
""",
        tmp_path / "bodies",
        tmp_path / "ref.json",
        seconds=40,
    )
    assert said.strip() == "a recorded body is not what crossed the wire (sha256 000000000000…)"


def test_a_body_is_what_it_says_and_no_byte_more(tmp_path: Path):
    digest = stored(tmp_path / "bodies", b"abc")
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


def test_a_body_is_not_put_together_beyond_the_size_that_it_says(tmp_path: Path):
    digest, bodies = stored(tmp_path / "bodies", b"abc"), Counting(tmp_path / "bodies")
    with pytest.raises(TranscriptError, match="is not what crossed the wire"):
        bodies.get(BodyRef(sha256="0" * 64, size=5, text=f"{{{{raw-sha256:{digest}}}}}" * 1000))
    assert bodies.count == 2


def test_files_that_only_say_that_they_are_large_are_refused_before_they_are_read(tmp_path: Path):
    bodies = Bodies(tmp_path / "bodies")
    digest = stored(bodies.folder, b"abc")
    os.truncate(bodies.folder / digest, 2**33)
    with pytest.raises(TranscriptError, match="cannot be read: it is larger than 536,870,912 bytes"):
        bodies.file(digest)
    (tmp_path / "log.jsonl").touch()
    os.truncate(tmp_path / "log.jsonl", 2**36)
    with pytest.raises(TranscriptError, match="cannot be read: it is larger than 4,294,967,296 bytes"):
        list(read(tmp_path))


@pytest.mark.parametrize("line", ["[" * 200_000, '{"seq":' * 200_000, '{"seq":' + "9" * 10_000 + "}", "NaN"])
def test_a_line_that_is_nested_for_ever_is_damaged(tmp_path: Path, line: str):
    (tmp_path / "log.jsonl").write_text(line + "\n")
    with pytest.raises(TranscriptError, match="transcript line 1 is damaged"):
        list(read(tmp_path))


@pytest.mark.parametrize("manifest", [b"[" * 200_000, b"\xff", json.dumps({"transcript": []}).encode()])
def test_a_manifest_that_is_none_names_no_head(tmp_path: Path, manifest: bytes):
    (tmp_path / "transcript").mkdir()
    (tmp_path / "transcript" / "log.jsonl").write_text("[" * 200_000 + "\n")
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "manifest.json").write_bytes(manifest)
    assert RunReader.lenient(tmp_path).released_head is None
