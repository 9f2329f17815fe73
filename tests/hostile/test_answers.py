"""Bodies that break the contract: one line about it, nothing lost, and the run can be resumed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest

from hostile import pictures
from hostile.attempt import Attempt, Case
from hostile.provider import Act, Line, Request, body_of, honest, model, response
from pcevolve_shared import images
from support.provider import png

Body = Callable[[Request], bytes]
CONTRACT = "breaks the contract|where JSON was expected"


def says(body: Body | bytes, *headers: str) -> Act:
    """Answer 200 with this body."""

    def act(line: Line, request: Request) -> None:
        line.send(response(body if isinstance(body, bytes) else body(request), headers=headers))

    return act


def images_as(spell: Callable[[bytes], str]) -> Body:
    """The honest images in another spelling."""

    def body(request: Request) -> bytes:
        listed = [{"image": spell(png(place)), "seed": 1} for place in range(request.count)]
        return json.dumps({"images": listed, "cost": 0}).encode()

    return body


def counted(change: Callable[[int], int]) -> Body:
    """Another number of images."""
    return lambda request: (
        body_of([png(1)] * change(request.count), single=False)
        if change(request.count)
        else b'{"images":[],"cost":0}'
    )


def loosened(text: str) -> str:
    """Base64 whose unused bits are set: a channel that decoding does not see."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = text.rstrip("=")
    last = letters[letters.index(bare[-1]) + 1]
    return bare[:-1] + last + "=" * (len(text) - len(bare))


def padded_png() -> bytes:
    """A PNG whose base64 has unused bits."""
    data = png(1)
    while len(data) % 3 == 0:
        data += b"\0"
    return data


COUNTS: list[Case] = [
    Case("no images", "first", says(counted(lambda n: 0)), says="0 where|contract"),
    Case("one image too few", "variation", says(counted(lambda n: n - 1)), says="1 where 2"),
    Case("one image too many", "variation", says(counted(lambda n: n + 1)), says="3 where 2"),
    Case(
        "10,000 images", "first", says(counted(lambda n: 10_000)), says="longer than 1 MiB without its images"
    ),
]
IMAGE = b'{"images":[{"image":%s,"seed":1},{"image":"AAAA","seed":2}],"cost":0}'
SPELLINGS: list[Case] = [
    Case(
        "base64 with line breaks",
        "first",
        says(images_as(lambda data: images.to_base64(data)[:76] + "\n" + images.to_base64(data)[76:])),
        code=0,
    ),
    Case(
        "base64 with spaces",
        "variation",
        says(images_as(lambda data: " " + images.to_base64(data))),
        code=0,
    ),
    Case(
        "base64 with hidden bits",
        "first",
        says(images_as(lambda data: loosened(images.to_base64(padded_png())))),
        says="canonical",
    ),
    Case(
        "a data URL",
        "first",
        says(images_as(lambda data: "data:image/png;base64," + images.to_base64(data))),
        code=0,
    ),
    Case("letters that are not ASCII", "first", says(images_as(lambda data: "ＡＡＡＡ")), says="base64"),
    Case("an empty image", "variation", says(IMAGE % b'""'), over=True, says="2 are no images"),
    Case("a NUL", "variation", says(IMAGE % b'"\\u0000AAA"'), says="base64"),
    Case("a lone surrogate", "variation", says(IMAGE % b'"\\ud800AAA"'), says=CONTRACT),
    Case("a number", "first", says(IMAGE % b"7"), says=CONTRACT),
    Case("a path", "first", says(IMAGE % b'"../../../etc/passwd"'), says="base64"),
    Case(
        "a string of 40 MB",
        "first",
        says(lambda request: IMAGE % (b'"' + b"A" * 40 * 2**20 + b'"')),
        says=CONTRACT,
    ),
    Case(
        "a string of 40 MB that is no base64",
        "variation",
        says(lambda request: IMAGE % (b'"' + b"\xc3\xa9" * 20 * 2**20 + b'"')),
        says="contract|longer",
    ),
]
DEEP = b"[" * 100_000 + b"]" * 100_000
JSONS: list[Case] = [
    Case("HTML", "first", says(b"<html><h1>It works!</h1></html>"), says=CONTRACT),
    Case("nothing", "variation", says(b""), says=CONTRACT),
    Case("null", "first", says(b"null"), says=CONTRACT),
    Case("NaN", "first", says(lambda request: honest(request).replace(b"0.0}", b"NaN}")), says=CONTRACT),
    Case(
        "a cost of 1e400",
        "first",
        says(lambda request: honest(request).replace(b"0.0}", b"1e400}")),
        says=CONTRACT,
    ),
    Case(
        "a cost below nothing",
        "first",
        says(lambda request: honest(request).replace(b"0.0}", b"-1}")),
        says=CONTRACT,
    ),
    Case(
        "a number of a million digits",
        "first",
        says(lambda request: honest(request).replace(b"0.0}", b"9" * 10**6 + b"}")),
        says=CONTRACT,
    ),
    Case(
        "the same key twice",
        "variation",
        says(lambda request: b'{"images":[],' + honest(request)[1:]),
        code=0,
    ),
    Case("nesting without end", "first", says(DEEP), says=CONTRACT),
    Case("nesting in an object", "variation", says(b'{"images":' + DEEP + b"}"), says=CONTRACT),
    Case("UTF-16", "first", says(lambda request: honest(request).decode().encode("utf-16")), says=CONTRACT),
    Case("ten million empty lists", "first", says(b"[" + b"[]," * 10**7 + b"[]]"), says="contract|longer"),
    Case(
        "ten million numbers",
        "variation",
        says(b'{"images":[' + b"1," * 10**7 + b"1]}"),
        says="contract|longer",
    ),
    Case(
        "many strings that look like images",
        "first",
        says(lambda request: _many_strings()),
        says="contract|longer",
    ),
    Case(
        "a gzip bomb that nobody asked for",
        "first",
        says(lambda request: _zipped(), "Content-Encoding: gzip"),
        says="longer than 1 MiB",
    ),
    Case(
        "honest, but zipped",
        "variation",
        says(lambda request: gzip.compress(honest(request)), "Content-Encoding: gzip"),
        says=CONTRACT,
    ),
    Case(
        "a placeholder of the transcript",
        "variation",
        says(b'{"images":["{{sha256:' + b"0" * 64 + b'}}"]}'),
        says=CONTRACT,
    ),
]
GREETINGS: list[Case] = [
    Case("HTML", "hello", says(b"<html>"), says=CONTRACT),
    Case("nesting without end", "hello", says(DEEP), says=CONTRACT),
    Case("a million models", "hello", says(lambda request: _many_models()), says="contract|longer"),
    Case("no models", "hello", says(b"[]"), code=2, says="no model 'bundled'"),
    Case("a model without a size", "hello", says(b'[{"id":"bundled"}]'), says=CONTRACT),
    Case(
        "a model of a billion pixels",
        "hello",
        says(lambda request: _models(base_resolution={"width": 10**9, "height": 10**9})),
        says=CONTRACT,
    ),
    Case(
        "a model of one pixel",
        "hello",
        says(lambda request: _models(base_resolution={"width": 1, "height": 1})),
        code=2,
        says="width: Input should be",
    ),
    Case(
        "models called like paths",
        "hello",
        says(lambda request: _models(id="../../../etc/passwd")),
        code=2,
        says="no model",
    ),
    Case(
        "models called like commands to a terminal",
        "hello",
        says(lambda request: _models(id="\x1b]0;owned\x07\x1b[2J\u202e")),
        code=2,
        says="no model",
    ),
    Case(
        "ten models with the longest names",
        "hello",
        says(lambda request: json.dumps([model(id=f"{place}" * 250) for place in range(10)]).encode()),
        code=2,
        says="no model",
    ),
    Case(
        "a key that commands a terminal",
        "hello",
        says(lambda request: _models(**{"base_resolution": {"\x1b[31mwidth" * 10_000: 1}})),
        says=CONTRACT,
    ),
]


def _models(**changes: object) -> bytes:
    return json.dumps([model(**changes)]).encode()


def _many_models() -> bytes:
    return b"[" + b'{"id":"bundled"},' * 10**6 + b"{}]"


def _many_strings() -> bytes:
    name = images.to_base64(b"n" * 48)
    return ('{"images":[' + ",".join(f'"{name}{place:08}"' for place in range(200_000)) + "]}").encode()


def _zipped() -> bytes:
    return gzip.compress(b"")[:10] + pictures.bomb()[2:]


@pytest.mark.parametrize("case", COUNTS, ids=str)
def test_a_wrong_number_of_images_is_refused(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", SPELLINGS, ids=str)
def test_an_image_in_another_spelling_is_refused(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", JSONS, ids=str)
def test_an_answer_of_another_shape_is_refused(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", GREETINGS, ids=str)
def test_a_greeting_that_lies_ends_the_run_before_anything_is_spent(attempt: Attempt, case: Case):
    attempt(case)
