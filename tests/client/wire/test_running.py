"""How a process with the network decodes what came, and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from pcevolve.public.media.images.decoding import decode_picture
from pcevolve.public.processes.pipe import GoneError, Pipe, open_conversation
from pcevolve.wire.running import report

ORDERS = {"quiet": True, "verbose": False, "is_there": False, "shows_progress": False}
STUCK = """
import json, re, sys
from pcevolve.public import decoder
from pcevolve.public.media.images.decoding import decode_picture
from pcevolve.public.processes.pipe import Pipe
from pcevolve.wire.running import report
from pcevolve_shared import images
assert decoder.MOST_SECONDS == 60
decoder.MOST_SECONDS = 0.3
images.decode = lambda data: re.match("(a+)+b", "a" * 60)  # years, and nothing in Python can interrupt it
report(lambda audience: decode_picture(b"x"), json.loads(sys.argv[1]), Pipe(*map(int, sys.argv[2:])))
"""


@pytest.mark.system
def test_a_runner_that_never_comes_back_from_an_image_ends_and_shows_no_traceback():
    near, far = open_conversation()
    words = [sys.executable, "-c", STUCK, json.dumps(ORDERS), *map(str, far)]
    process = subprocess.Popen(words, pass_fds=far, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for each in far:
        os.close(each)
    with pytest.raises(GoneError):
        Pipe(*near).receive()
    assert process.communicate(timeout=60)[0] == b""
    assert process.returncode == 1


def test_a_runner_decodes_an_image_once_however_often_it_is_checked_and_shown(
    monkeypatch: pytest.MonkeyPatch,
):
    decoded: list[bytes] = []

    def decode(data: bytes) -> Image.Image:
        decoded.append(data)
        return Image.new("RGB", (8, 8))

    def go(_audience: object) -> dict[str, object]:
        return {"same": decode_picture(b"x") is decode_picture(b"x")}

    monkeypatch.setattr("pcevolve_shared.images.decode", decode)
    up, launcher = (Pipe(*each) for each in open_conversation())
    report(go, ORDERS, up)
    assert launcher.receive() == ("done", '{"summary": {"same": true}}')
    assert decoded == [b"x"]
