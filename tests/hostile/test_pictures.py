"""Images that are bombs, broken, of other kinds or sizes, or chosen to mislead: the client comes to no harm."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PIL import Image

from hostile import pictures
from hostile.attempt import RESUME_SECONDS, Attempt, Case
from hostile.launcher import start_command
from hostile.provider import Act, Line, Moment, Request, body_of, response
from hostile.test_wire import OK, drips
from hostile.verdict import list_paid
from support.pngs import chunk, raw_png
from support.provider import png

Make = Callable[[int], bytes]


def sends(make: Make) -> Act:
    """Answer with such images, as many as were asked for."""

    def act(line: Line, request: Request) -> None:
        made = [make(request.fields["seed"] + place) for place in range(request.count)]
        line.send(response(body_of(made)))

    return act


SIDES = (pictures.SIZE, pictures.SIZE)
LARGE: dict[str, Make] = {
    "20,000 x 20,000 declared": pictures.fix(raw_png(20_000, 20_000, bytes(64))),
    "2 billion pixels on a side declared": pictures.fix(raw_png(2**31 - 1, 2**31 - 1, bytes(64))),
    "4096 x 4096 for 16 x 16": pictures.resize(4096, 4096),
}
BOMB = "pixels that inflate for ever"
BOMBS: dict[str, Make] = {
    BOMB: pictures.once(lambda: raw_png(*SIDES, pictures.bomb())),
    "a colour profile that inflates for ever": pictures.once(
        lambda: raw_png(*SIDES, pictures.rows(*SIDES), chunk(b"iCCP", b"x\0\0" + pictures.bomb()))
    ),
    "a text that inflates for ever": pictures.once(
        lambda: raw_png(*SIDES, pictures.rows(*SIDES), chunk(b"zTXt", b"Comment\0\0" + pictures.bomb()) * 3)
    ),
    "endless scans": pictures.endless_scans,
}
BROKEN: dict[str, Make] = {
    "half a PNG": pictures.halve(png),
    "half a JPEG": pictures.halve(pictures.in_mode("RGB", "JPEG")),
    "an animated PNG": pictures.animate("PNG"),
    "an animated WebP": pictures.animate("WEBP"),
    "a GIF of many frames": pictures.animate("GIF"),
    "a TIFF of many pages": pictures.animate("TIFF"),
    "three bytes": pictures.fix(b"abc"),
    "a page of HTML": pictures.fix(b"<html><script>alert(1)</script></html>"),
    "no width and no height": pictures.resize(0, 0),
}
ODD: dict[str, Make] = {
    "16-bit grey": pictures.deep_grey,
    "16-bit colour": pictures.deep_colour,
    "CMYK": pictures.in_mode("CMYK", "JPEG"),
    "a palette": pictures.in_mode("P"),
    "one bit": pictures.in_mode("1"),
    "grey and alpha": pictures.in_mode("LA"),
    "colour and alpha": pictures.in_mode("RGBA"),
    "a line of 8192 pixels": pictures.scale(8192, 1),
    "a column of 8192 pixels": pictures.scale(1, 8192),
    "as large as is let in": pictures.scale(1024, 1024),
    "another file behind the first": lambda seed: png(seed) + png(seed + 1) + b"PK\3\4",
}
EMPTY: dict[str, Make] = {
    "all black": pictures.flat("black"),
    "all white": pictures.flat("white"),
    "all of one grey": pictures.flat("grey"),
    "black with a JPEG's noise": lambda seed: pictures.save(pictures.nearly_black(seed), "JPEG"),
    "all transparent": lambda seed: pictures.save(pictures.transparent(seed)),
    "one pixel": pictures.resize(1, 1),
    "the same image for all": pictures.fix(png(5)),
    "the same pixels in other bytes": lambda seed: pictures.save(
        pictures.picture(5), pnginfo=pictures.note(seed)
    ),
    "the same image but for rounding": lambda seed: pictures.save(pictures.round_otherwise(5, seed)),
}

NO_IMAGE = {name: BROKEN[name] for name in ("half a PNG", "an animated WebP", "three bytes")}
"""One of each kind: all of them are passed over alike."""
OVER = {"code": 6, "over": True, "says": "too little that can be used"}
EVERY_RELEASE = (("method", "auto"), ("epsilon", "40"), ("delta", "1e-5"))
"""The method with most of them: the images' appearance, prototypes, and the dataset from all rounds."""


def cases(made: dict[str, Make], *moments: Moment, **changes: object) -> list[Case]:
    """Such images at such moments."""
    return [
        Case(name, moment, sends(make), **{"code": 0, **changes})
        for name, make in made.items()
        for moment in moments
    ]


def in_turn(made: dict[str, Make], **changes: object) -> list[Case]:
    """Such images at one moment each: they are looked at in the same way at both."""
    moments: Iterator[Moment] = itertools.cycle(("first", "variation"))
    return [each for name, make in made.items() for each in cases({name: make}, next(moments), **changes)]


@pytest.mark.parametrize("make", [*BROKEN.values(), *EMPTY.values()], ids=[*BROKEN, *EMPTY])
def test_what_cannot_be_used_is_passed_over_where_others_can(attempt: Attempt, make: Make):
    def act(line: Line, request: Request) -> None:
        seeds = range(request.fields["seed"], request.fields["seed"] + request.count)
        line.send(
            response(body_of([make(seed) if place == 0 else png(seed) for place, seed in enumerate(seeds)]))
        )

    attempt(Case("one of two", "first", act, code=0, options=(("candidates", 6),)))


@pytest.mark.parametrize("case", [*in_turn(BOMBS, **OVER), *cases(NO_IMAGE, "variation", **OVER)], ids=str)
def test_a_bomb_does_not_go_off_and_what_is_no_image_is_not_paid_for(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", cases(ODD, "variation"), ids=str)
def test_an_image_of_another_kind_is_judged_as_its_pixels(attempt: Attempt, case: Case):
    attempt(case)


EACH_KIND = {name: EMPTY[name] for name in ("all black", "one pixel", "the same image for all")}
NOTHING_TO_CHOOSE = [
    *cases(EACH_KIND, "first", "variation", **OVER),
    *cases(EACH_KIND, "first", options=EVERY_RELEASE, **OVER),
]


@pytest.mark.parametrize(
    "case", NOTHING_TO_CHOOSE, ids=lambda case: f"{case}-{dict(case.options).get('method', 'pcevolve')}"
)
def test_images_that_leave_nothing_to_choose_are_not_paid_for(attempt: Attempt, case: Case):
    attempt(case)


@pytest.mark.parametrize("case", cases(EMPTY, "variation", options=EVERY_RELEASE), ids=str)
def test_a_dataset_from_all_rounds_is_chosen_as_planned_where_the_last_brought_nothing(
    attempt: Attempt, case: Case
):
    """The release that is due chooses from the rounds before, and the owner is told of what is left out."""
    ended = attempt(case)
    lack = r"(0 of 2 images can be used|2 of 2 images can be used \((1 repeats|they are the same))"
    for label in ("type A", "type B"):
        assert re.search(f"WARNING: of class '{label}' {lack}", ended.stderr.decode())
    released = [Image.open(each).convert("RGB") for each in (attempt.root / "run" / "release").rglob("*.png")]
    assert len(released) > 1
    assert len({each.tobytes() for each in released}) == len(released)
    assert all(low != high for each in released for low, high in [each.convert("L").getextrema()])


def test_images_in_the_middle_of_all_others_cost_what_was_agreed(attempt: Attempt):
    act = sends(pictures.in_the_middle)
    attempt(Case("nearest to everything", "first", act, code=0, options=EVERY_RELEASE))


@pytest.mark.parametrize("case", in_turn(LARGE, code=6, says="16 x 16 were asked for"), ids=str)
def test_a_size_that_nobody_asked_for_is_refused_before_it_is_decoded(attempt: Attempt, case: Case):
    attempt(case)


def test_an_answer_that_repeats_the_images_of_other_requests_earns_nothing(attempt: Attempt):
    seen: list[bytes] = [png(1)]

    def echo(line: Line, request: Request) -> None:
        line.send(response(body_of([seen[0]] * request.count)))

    attempt(Case("the first image again", "variation", echo, **OVER))


AS_INSTALLED = [
    Case("headers that drip", "variation", drips(OK + b"X-A: "), options=(("timeout", 3),), says="too long"),
    *cases({BOMB: BOMBS[BOMB]}, "first", code=6, over=True, says="2 are all of one colour"),
]


@pytest.mark.parametrize("case", AS_INSTALLED, ids=str)
def test_the_installed_command_survives_as_its_forks_do(attempt: Attempt, case: Case):
    """As a user starts it, where it matters most: three processes, also when it goes on. All else is tried in forks."""
    as_installed = replace(
        attempt, launch=lambda command, seconds: start_command(command, 6 * seconds, attempt.root)
    )
    as_installed(case)


def test_a_preview_of_nothing_says_what_a_run_would(attempt: Attempt):
    out = attempt.root / "looked-at"
    shutil.rmtree(attempt.root / "ledger", ignore_errors=True)
    attempt.provider.arm("first", sends(pictures.flat("black")))
    looked = attempt.launch(["preview", *attempt.command(out=out)[1:]], RESUME_SECONDS)
    attempt.provider.arm(None, None)
    assert looked.code == 6
    complaint = looked.stderr.decode().splitlines()[-1]
    assert "0 of 2 images can be used (2 are all of one colour), 2 different ones are needed" in complaint
    assert "no privacy budget was spent; 4 images" in complaint
    assert (out / "preview.html").is_file()
    assert list_paid(attempt.root / "ledger" / "ledger.sqlite") == []
