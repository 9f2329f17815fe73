"""Images that another process decodes: the same pixels as here, and nothing but pixels comes back."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import ProtocolError
from pcevolve.public import decoder
from pcevolve.public.media.images import elsewhere
from pcevolve.public.media.images.decoding import RecentImages, decode_here, decode_picture, decoding_by
from pcevolve.public.processes.pipe import Pipe, open_conversation


@pytest.fixture
def ends() -> tuple[Pipe, Pipe]:
    """Both ends of a conversation: the keeper's, and the decoder's."""
    first, second = open_conversation()
    return Pipe(*first), Pipe(*second)


@pytest.fixture
def asked(ends: tuple[Pipe, Pipe]) -> Iterator[elsewhere.Elsewhere]:
    thread = threading.Thread(target=decoder.serve, args=({}, None, ends[1], ends[1]))
    thread.start()
    made = elsewhere.Elsewhere(ends[0])
    yield made
    made.end()
    thread.join(10)
    assert not thread.is_alive()


def draw(mode: str, kind: str) -> bytes:
    pixels = np.random.default_rng(3).integers(0, 256, (9, 7, 4), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels, "RGBA").convert(mode).save(buffer, kind)
    return buffer.getvalue()


FILES = [draw("RGBA", "png"), draw("L", "png"), draw("RGB", "jpeg"), draw("RGBA", "webp"), b"", b"no image"]


@pytest.mark.parametrize("data", [*FILES, FILES[0][:-20]])
def test_another_process_finds_the_pixels_that_this_one_would(asked: elsewhere.Elsewhere, data: bytes):
    found, here = asked.decode(data), decode_here(data)
    assert (found is None) == (here is None)
    if found is not None and here is not None:
        assert (found.mode, found.size, found.tobytes()) == ("RGB", here.size, here.tobytes())
        assert found.info == {}


def test_many_threads_get_each_its_own_image(asked: elsewhere.Elsewhere):
    files = [draw("RGB", "png"), draw("L", "png"), draw("RGB", "jpeg")]
    decode = RecentImages(asked.decode, 0).decode
    wrong: list[int] = []

    def look(place: int) -> None:
        here = decode_here(files[place])
        for _ in range(50):
            found = decode(files[place])
            if found is None or here is None or found.tobytes() != here.tobytes():
                wrong.append(place)

    threads = [threading.Thread(target=look, args=(place,)) for place in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


def spell(width: int, height: int, pixels: bytes) -> str:
    return json.dumps({"width": width, "height": height, "pixels": base64.b64encode(pixels).decode()})


@pytest.mark.parametrize(
    "answer",
    [
        f"picture {spell(2, 2, bytes(11))}",
        f"picture {spell(2, 2, bytes(13))}",
        f"picture {spell(0, 0, b'')}",
        f"picture {spell(8193, 1, bytes(3 * 8193))}",
        'picture {"width": 1, "height": 1, "pixels": "AAA*"}',
        f"picture {spell(1, 1, bytes(3))[:-1]}, 1]",
        "no message",
    ],
)
def test_what_comes_back_and_is_no_image_ends_the_run(ends: tuple[Pipe, Pipe], answer: str):
    name, _, body = answer.partition(" ")
    ends[1].send(name, body)
    with pytest.raises(ProtocolError, match="sent what is no image; what is paid for is on record"):
        elsewhere.Elsewhere(ends[0]).decode(FILES[0])


def test_a_decoder_that_is_gone_ends_the_run(ends: tuple[Pipe, Pipe]):
    ends[1].close()
    with pytest.raises(
        ProtocolError, match="the process that decodes images ended, as it does after a minute"
    ):
        elsewhere.Elsewhere(ends[0]).decode(FILES[0])


STUCK = """
import re, sys
from pcevolve.public import decoder
from pcevolve.public.processes.pipe import Pipe
from pcevolve_shared import images
assert decoder.MOST_SECONDS == 60
decoder.MOST_SECONDS = 0.3
images.decode = lambda data: re.match("(a+)+b", "a" * 60)  # years, and nothing in Python can interrupt it
pipe = Pipe(*map(int, sys.argv[1:]))
decoder.serve({}, None, pipe, pipe)
"""


@pytest.mark.system
def test_a_decoder_that_never_comes_back_from_an_image_ends_and_with_it_the_run():
    near, far = open_conversation()
    words = [sys.executable, "-c", STUCK, *map(str, far)]
    process = subprocess.Popen(words, pass_fds=far, stderr=subprocess.DEVNULL)
    for each in far:
        os.close(each)
    with pytest.raises(
        ProtocolError, match="the process that decodes images ended, as it does after a minute"
    ):
        elsewhere.Elsewhere(Pipe(*near)).decode(FILES[0])
    assert process.wait(60) == 1


def test_a_process_that_leaves_it_to_another_decodes_nothing_itself(monkeypatch: pytest.MonkeyPatch):
    red = Image.new("RGB", (1, 1), "red")
    monkeypatch.setattr("pcevolve_shared.images.decode", lambda data: pytest.fail("decoded here"))
    with decoding_by(lambda data: red):
        assert decode_picture(FILES[0]) is red
    with pytest.raises(pytest.fail.Exception, match="decoded here"):
        decode_picture(FILES[0])
