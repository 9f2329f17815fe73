"""Bodies that break the contract: one line about it, nothing lost, and the run can be resumed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from hostile import pictures
from hostile.attempt import Attempt, Case
from hostile.provider import Act, Line, Moment, Request, body_of, honest, model, response
from pcevolve_shared import images
from support.provider import png

Body = Callable[[Request], bytes]
CONTRACT = "breaks the contract|where JSON was expected"


def says(body: Body | bytes, *headers: str) -> Act:
    """Answer 200 with this body."""

    def act(line: Line, request: Request) -> None:
        line.send(response(body if isinstance(body, bytes) else body(request), headers=headers))

    return act


def case(name: str, moment: Moment, body: Body | bytes, told: str = CONTRACT, **options: Any) -> Case:
    """An answer with this body, of which the owner is told so."""
    return Case(name, moment, says(body), says=told, **options)


def fine(name: str, moment: Moment, body: Body) -> Case:
    """An answer that is taken for what it is."""
    return Case(name, moment, says(body), code=0)


def costing(cost: bytes) -> Body:
    """The honest answer at another price."""
    return lambda request: honest(request).replace(b"0.0}", cost + b"}")


def images_as(spell: Callable[[bytes], str]) -> Body:
    """The honest images in another spelling."""

    def body(request: Request) -> bytes:
        listed = [
            {"image": spell(png(request.fields["seed"] + place)), "seed": 1} for place in range(request.count)
        ]
        return json.dumps({"images": listed, "cost": 0}).encode()

    return body


def change_count(change: Callable[[int], int]) -> Body:
    """Another number of images."""
    return lambda request: (
        body_of([png(place % 8) for place in range(change(request.count))], single=False)
        if change(request.count)
        else b'{"images":[],"cost":0}'
    )


def loosen(text: str) -> str:
    """Base64 whose unused bits are set: a channel that decoding does not see."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = text.rstrip("=")
    last = letters[letters.index(bare[-1]) + 1]
    return bare[:-1] + last + "=" * (len(text) - len(bare))


def make_padded_png() -> bytes:
    """A PNG whose base64 has unused bits."""
    data = png(1)
    while len(data) % 3 == 0:
        data += b"\0"
    return data


IMAGE = b'{"images":[{"image":%s,"seed":1},{"image":"AAAA","seed":2}],"cost":0}'
DEEP = b"[" * 100_000 + b"]" * 100_000
LONG = "contract|larger"
to64 = images.to_base64


def _models(**changes: object) -> bytes:
    return json.dumps([model(**changes)]).encode()


def _many_strings(request: Request) -> bytes:
    name = to64(b"n" * 48)
    return ('{"images":[' + ",".join(f'"{name}{place:08}"' for place in range(200_000)) + "]}").encode()


NUMBERS: list[Case] = [
    case("no images", "first", change_count(lambda n: 0), "0 where|contract"),
    case("one image too few", "variation", change_count(lambda n: n - 1), "1 is withheld", over=True),
    fine("one image too many", "variation", change_count(lambda n: n + 1)),
    case("10,000 images", "first", change_count(lambda n: 10_000), "larger than 1 MiB without its images"),
]
SPELLINGS: list[Case] = [
    fine(
        "base64 with line breaks", "first", images_as(lambda data: to64(data)[:76] + "\n" + to64(data)[76:])
    ),
    fine("base64 with spaces", "variation", images_as(lambda data: " " + to64(data))),
    case(
        "base64 with hidden bits",
        "first",
        images_as(lambda data: loosen(to64(make_padded_png()))),
        "canonical",
    ),
    fine("a data URL", "first", images_as(lambda data: "data:image/png;base64," + to64(data))),
    case("letters that are not ASCII", "first", images_as(lambda data: "ＡＡＡＡ"), "base64"),
    case("an empty image", "variation", IMAGE % b'""', "1 is withheld, 1 is unreadable", over=True),
    case("a NUL", "variation", IMAGE % b'"\\u0000AAA"', "1 is withheld, 1 is unreadable", over=True),
    case("a lone surrogate", "variation", IMAGE % b'"\\ud800AAA"'),
    case("a number", "first", IMAGE % b"7"),
    case("a path", "first", IMAGE % b'"../../../etc/passwd"', "base64"),
    case("a string of 40 MB", "first", lambda request: IMAGE % (b'"' + b"A" * 40 * 2**20 + b'"')),
    case(
        "a string of 40 MB that is no base64",
        "variation",
        lambda request: IMAGE % (b'"' + b"\xc3\xa9" * 20 * 2**20 + b'"'),
        LONG,
    ),
]
SHAPES: list[Case] = [
    case("HTML", "first", b"<html><h1>It works!</h1></html>"),
    case("nothing", "variation", b""),
    case("null", "first", b"null"),
    fine("NaN", "first", costing(b"NaN")),
    fine("a cost below nothing", "first", costing(b"-1")),
    fine("a cost in words", "first", costing(b'"$0.01"')),
    case("a number of a million digits", "first", costing(b"9" * 10**6)),
    fine("the same key twice", "variation", lambda request: b'{"images":[],' + honest(request)[1:]),
    case("nesting without end", "first", DEEP),
    case("nesting in an object", "variation", b'{"images":' + DEEP + b"}"),
    case("UTF-16", "first", lambda request: honest(request).decode().encode("utf-16")),
    case("ten million empty lists", "first", lambda request: b"[" + b"[]," * 10**7 + b"[]]", LONG),
    case("ten million numbers", "variation", lambda request: b'{"images":[' + b"1," * 10**7 + b"1]}", LONG),
    case("many strings that look like images", "first", _many_strings, LONG),
    Case(
        "a gzip bomb that nobody asked for",
        "first",
        says(lambda request: gzip.compress(b"")[:10] + pictures.bomb()[2:], "Content-Encoding: gzip"),
        says="larger than 1 MiB",
    ),
    Case(
        "honest, but zipped",
        "variation",
        says(lambda request: gzip.compress(honest(request)), "Content-Encoding: gzip"),
        says=CONTRACT,
    ),
    case("a placeholder of the transcript", "variation", b'{"images":["{{sha256:' + b"0" * 64 + b'}}"]}'),
]
GREETINGS: list[Case] = [
    case("HTML", "hello", b"<html>"),
    case("nesting without end", "hello", DEEP),
    case("a million models", "hello", lambda request: b"[" + b'{"id":"bundled"},' * 10**6 + b"{}]", LONG),
    case("no models", "hello", b"[]", "no model 'bundled'", code=2),
    case("a model without a size", "hello", b'[{"id":"bundled"}]'),
    case("a model of a billion pixels", "hello", _models(base_resolution={"width": 10**9, "height": 10**9})),
    case(
        "a model of one pixel",
        "hello",
        _models(base_resolution={"width": 1, "height": 1}),
        "width: Input should be",
        code=2,
    ),
    case("models called like paths", "hello", _models(id="../../../etc/passwd"), "no model", code=2),
    case(
        "models called like commands to a terminal",
        "hello",
        _models(id="\x1b]0;owned\x07\x1b[2J\u202e"),
        "no model",
        code=2,
    ),
    case(
        "ten models with the longest names",
        "hello",
        json.dumps([model(id=f"{place}" * 250) for place in range(10)]).encode(),
        "no model",
        code=2,
    ),
    case("a key that commands a terminal", "hello", _models(base_resolution={"\x1b[31mwidth" * 10_000: 1})),
]
CASES: dict[str, list[Case]] = {
    "a wrong number of images": NUMBERS,
    "an image in another spelling": SPELLINGS,
    "an answer of another shape": SHAPES,
    "a greeting that lies": GREETINGS,
}


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, each) for kind, cases in CASES.items() for each in cases], ids=str
)
def test_what_breaks_the_contract_is_told_in_one_line_and_nothing_is_lost(
    attempt: Attempt, kind: str, case: Case
):
    attempt(case)
