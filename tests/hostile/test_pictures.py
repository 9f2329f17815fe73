"""Images that are bombs, broken, of other kinds or sizes, or chosen to mislead: the run goes on without harm."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hostile import pictures
from hostile.attempt import Attempt, Case
from hostile.provider import Act, Line, Moment, Request, body_of, response
from support.provider import png

Make = Callable[[int], bytes]


def sends(make: Make) -> Act:
    """Answer with such images, as many as were asked for."""

    def act(line: Line, request: Request) -> None:
        made = [make(request.fields["seed"] + place) for place in range(request.count)]
        line.send(response(body_of(made)))

    return act


LARGE: dict[str, Make] = {
    "20,000 x 20,000 declared": pictures.fixed(pictures.raw_png(20_000, 20_000, bytes(64))),
    "2 billion pixels on a side declared": pictures.fixed(pictures.raw_png(2**31 - 1, 2**31 - 1, bytes(64))),
    "4096 x 4096 for 16 x 16": pictures.sized(4096, 4096),
}
BOMBS: dict[str, Make] = {
    "pixels that inflate for ever": lambda seed: pictures.raw_png(
        pictures.SIZE, pictures.SIZE, pictures.bomb()
    ),
    "a colour profile that inflates for ever": lambda seed: pictures.raw_png(
        pictures.SIZE,
        pictures.SIZE,
        pictures.rows(pictures.SIZE, pictures.SIZE),
        pictures.chunk(b"iCCP", b"x\0\0" + pictures.bomb()),
    ),
    "a text that inflates for ever": lambda seed: pictures.raw_png(
        pictures.SIZE,
        pictures.SIZE,
        pictures.rows(pictures.SIZE, pictures.SIZE),
        pictures.chunk(b"zTXt", b"Comment\0\0" + pictures.bomb()) * 3,
    ),
    "endless scans": pictures.endless_scans,
}
BROKEN: dict[str, Make] = {
    "half a PNG": pictures.halved(png),
    "half a JPEG": pictures.halved(pictures.in_mode("RGB", "JPEG")),
    "an animated PNG": pictures.animated("PNG"),
    "an animated WebP": pictures.animated("WEBP"),
    "a GIF of many frames": pictures.animated("GIF"),
    "a TIFF of many pages": pictures.animated("TIFF"),
    "three bytes": pictures.fixed(b"abc"),
    "a page of HTML": pictures.fixed(b"<html><script>alert(1)</script></html>"),
    "no width and no height": pictures.sized(0, 0),
}
ODD: dict[str, Make] = {
    "16-bit grey": pictures.deep_grey,
    "16-bit colour": pictures.deep_colour,
    "CMYK": pictures.in_mode("CMYK", "JPEG"),
    "a palette": pictures.in_mode("P"),
    "one bit": pictures.in_mode("1"),
    "grey and alpha": pictures.in_mode("LA"),
    "colour and alpha": pictures.in_mode("RGBA"),
    "one pixel": pictures.sized(1, 1),
    "a line of 8192 pixels": pictures.sized(8192, 1),
    "a column of 8192 pixels": pictures.sized(1, 8192),
    "as large as is let in": pictures.sized(1024, 1024),
    "another file behind the first": lambda seed: png(seed) + png(seed + 1) + b"PK\3\4",
}
MISLEADING: dict[str, Make] = {
    "all black": pictures.flat("black"),
    "all white": pictures.flat("white"),
    "all of one grey": pictures.flat("grey"),
    "the same bytes for all classes": pictures.fixed(png(5)),
    "nearest to everything": pictures.in_the_middle,
}

EVERY_RELEASE = (("method", "auto"), ("epsilon", "40"), ("delta", "1e-5"))
"""The method with most of them: the images' appearance, prototypes, and the dataset from all rounds."""


def cases(made: dict[str, Make], *moments: Moment, **changes: object) -> list[Case]:
    """Such images at such moments."""
    return [
        Case(name, moment, sends(make), **{"code": 0, **changes})
        for name, make in made.items()
        for moment in moments
    ]


@pytest.mark.parametrize("case", cases(BOMBS, "first", "variation"), ids=str)
def test_a_bomb_does_not_go_off(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", cases(BROKEN, "first"), ids=str)
def test_what_is_no_image_is_passed_over(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", cases(ODD, "variation"), ids=str)
def test_an_image_of_another_kind_is_judged_as_its_pixels(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", cases(MISLEADING, "first", options=EVERY_RELEASE), ids=str)
def test_images_that_say_nothing_cost_what_was_agreed(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize(
    "case", cases(LARGE, "first", "variation", code=6, says="16 x 16 were asked for"), ids=str
)
def test_a_size_that_nobody_asked_for_is_refused_before_it_is_decoded(attempt: Attempt, case: Case):
    attempt(case)


def test_an_answer_that_repeats_the_images_of_other_requests_earns_nothing(attempt: Attempt):
    seen: list[bytes] = [png(1)]

    def echo(line: Line, request: Request) -> None:
        line.send(response(body_of([seen[0]] * request.count)))

    attempt(Case("the first image again", "variation", echo, code=0))
