"""A provider that writes, and what it writes is endless, no text, or dangerous to look at."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable

import pytest

from hostile.attempt import MESSAGES, Attempt, Case
from hostile.provider import Act, Moment, Request, is_variation, make_body, response, spell
from hostile.test_answers import CONTRACT, says
from hostile.test_wire import NO_ANSWER, OK, SLOW, drips, floods, send_chunked, writes

Texts = Callable[[Request], list[object]]
HEAD = b'{"choices":[{"message":{"content":"'
STREAM = b'data: {"choices":[{"delta":{"content":"word "}}]}\n\n'


def brings(texts: Texts) -> Act:
    """Answer 200 with these texts."""
    return says(lambda request: make_body(texts(request)))


def each(text: object) -> Act:
    """Answer with one text in every place."""
    return brings(lambda request: [text] * request.count)


def raw(content: bytes) -> Act:
    """Bytes where a text should be, whatever JSON says to them."""
    one = b'{"message":{"content":"' + content + b'"}}'
    return says(lambda request: b'{"choices":[' + b",".join([one] * request.count) + b"]}")


CUT = "larger than|no usable"
EVENTS = OK + b"Content-Type: text/event-stream\r\n\r\n"
ENDLESS: list[Case] = [
    *(
        Case("a text without end", moment, floods(OK + b"\r\n" + HEAD, b"word " * 2**18), says=CUT)
        for moment in ("trial", "variation")
    ),
    Case(
        "a text without end in chunks",
        "first",
        floods(send_chunked(b""), b"100000\r\n" + b"w" * 2**20 + b"\r\n"),
        says="larger than",
    ),
    Case("events without end in place of an answer", "variation", floods(EVENTS, STREAM * 2**10), says=CUT),
    Case("a text that drips", "first", drips(OK + b"\r\n" + HEAD), options=SLOW, says=NO_ANSWER),
    Case(
        "a text that stops in the middle of a character",
        "variation",
        writes(lambda request: response(make_body(["caf\u00e9"]))[:-6]),
        says="no usable|contract",
    ),
]
NO_UTF_8 = {
    "a byte that is none": b"\xff",
    "an overlong slash": b"\xc0\xaf",
    "a surrogate in bytes": b"\xed\xa0\x80",
    "UTF-16": "text".encode("utf-16"),
    "an escaped half of a pair": b"\\ud800",
    "a bare control": b"\x1b[2J",
}
SHAPES: list[Case] = [
    Case("no choices", "first", says(b'{"choices":[]}'), says="0 where"),
    Case("a text too few", "variation", brings(lambda request: ["one"] * (request.count - 1)), says="0 where 1"),
    Case(
        "a text too many",
        "first",
        brings(lambda request: [f"{spell(request.fields['seed'])} {each}" for each in ("one", "two", "three")]),
        code=0,
    ),
    Case("ten thousand texts", "first", brings(lambda request: ["w"] * 10_000), says=CONTRACT),
    Case("200 KB where 128 tokens are asked for", "first", each("word " * 40_000), says="a text of 200000 bytes"),
    Case("a number", "first", each(7), says=CONTRACT),
    Case("a list without parts", "variation", each(["a"]), over=True, says="0 of 2 texts can be used"),
    Case("choices as a text", "first", says(b'{"choices":"text"}'), says=CONTRACT),
    Case("no choices", "trial", says(b'{"choices":[]}'), code=0),
    Case("ten thousand texts", "trial", brings(lambda request: ["w"] * 10_000), code=0),
    Case("a page", "trial", says(b"<!doctype html><h1>It works!</h1>"), code=0),
    Case("a page", "variation", says(b"<!doctype html><h1>It works!</h1>"), says=CONTRACT),
    Case("models called like commands", "hello", says(b'{"data":[{"id":"\\u001b]0;owned\\u0007\\u202e"}]}'), code=2,
         says="no model"),
]  # fmt: skip
UNUSABLE = {
    "nothing": "",
    "null": None,
    "blanks": " \n\t ",
    "what does not show": "\u200b\u2060\ufeff\u00ad",
    "a NUL": "\x00",
    "directions alone": "\u202e\u2066\u2069",
}
DANGEROUS = {
    "terminal commands": "fever \x1b[2J\x1b]0;owned\x07\x9b31m\x1b]8;;http://evil.example\x1b\\link and cold {}",
    "right-to-left overrides": "invoice \u202egpj.exe\u202c of \u2067somebody\u2069 {}",
    "lines that look like ours": "fine {}\r\nerror: epsilon 0 spent\n\u2028error: all is well\u0085done",
    "HTML": "<script>alert(document.cookie)</script><img src=x onerror=alert(1)> {}",
    "templates": "{{{{ 7 * 7 }}}} {{% raw %}} ${{7*7}} #{{7*7}} {}",
    "console markup": "[/red][bold][link=http://evil.example]click {}[/link]",
    "Markdown": "`` ``` # heading\n- ![x](http://evil.example/{}.png) --- ",
    "a spreadsheet's formula": "=cmd|' /C calc'!A{}",
    "YAML and SQL": "--- !!python/object/apply:os.system ['ls'] '); DROP TABLE units; -- {}",
    "marks upon marks": "Z" + "\u0300\u0489" * 500 + " {}",
    "the question itself": "Fill in every blank (_) of the text below\n\n_ _ {}",
    "another line of a record": '"}}\n{{"kind":"released"}} {}',
    "tags that nobody sees": "plain" + "".join(map(chr, range(0xE0041, 0xE005B))) + " {}",
}


@pytest.mark.parametrize("content", NO_UTF_8.values(), ids=NO_UTF_8.keys())
def test_what_is_no_utf_8_is_no_answer(attempt_with_texts: Attempt, content: bytes):
    moment = ("first", "variation")[len(content) % 2]
    attempt_with_texts(Case(repr(content), moment, raw(content), says=CONTRACT))


@pytest.mark.parametrize("case", [*ENDLESS, *SHAPES], ids=str)
def test_a_text_without_end_is_cut_off_and_an_answer_of_another_shape_is_refused(
    attempt_with_texts: Attempt, case: Case
):
    attempt_with_texts(case)


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_is_no_text_is_an_answer_and_takes_nothing_with_it(attempt_with_texts: Attempt, text: object):
    def some(request: Request) -> list[object]:
        return [text, *[f"a text {spell(request.fields['seed'])}"] * (request.count - 1)]

    attempt_with_texts(Case(f"{text!r:.20}", "first", brings(some), code=0, options=(("candidates", 6),)))


EMPTY = {
    **UNUSABLE,
    "the same text": "a text about a cold",
    "a refusal": "I'm sorry, but I can't assist with that request.",
    "a refusal in other words": "I cannot create content of this kind.",
    "what it is": "As an AI language model, I have no experience of this.",
}


@pytest.mark.parametrize(
    ("text", "moment"),
    [(text, ("first", "variation")[place % 2]) for place, text in enumerate(EMPTY.values())],
    ids=EMPTY.keys(),
)
def test_texts_that_leave_nothing_to_choose_are_not_paid_for(
    attempt_with_texts: Attempt, text: object, moment: Moment
):
    attempt_with_texts(
        Case(f"{text!r:.20}", moment, each(text), over=True, says="too little that can be used")
    )


SENT_BACK = ("terminal commands", "lines that look like ours", "HTML")
"""What is also tried among the first texts, which a variation returns to its provider."""


@pytest.mark.parametrize("name", DANGEROUS)
def test_whatever_a_text_holds_is_shown_and_released_as_text(attempt_with_texts: Attempt, name: str):
    text = DANGEROUS[name]

    def distinct(request: Request) -> list[object]:
        return [text.format(spell(request.fields["seed"] + place)) for place in range(request.count)]

    moments: tuple[Moment, ...] = ("first", "variation") if name in SENT_BACK else ("variation",)
    for moment in moments:
        attempt_with_texts(Case(f"{text[:12]!r}", moment, brings(distinct), code=0))
        run = attempt_with_texts.root / "run"
        released = [path.read_text("utf-8") for path in (run / "release").rglob("*.txt")]
        assert released
        assert not [mark for one in released for mark in one.rstrip("\n") if not shows(mark)]
        pages = [path.read_text("utf-8") for path in (run / "report.html", run / "release" / "README.md")]
        assert not [mark for page in pages for mark in page if not (shows(mark) or mark in "\n\t")]
        for danger in ("<script>alert", "<img src=x", "\x1b", "\u202e"):
            assert not any(danger in page for page in pages), danger


def shows(mark: str) -> bool:
    """True if a character can be seen, and changes nothing but its own place."""
    return unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def test_texts_that_were_finished_before_it_broke_are_not_asked_for_again(attempt_with_texts: Attempt):
    attempt_with_texts(Case("no text", "variation", raw(b"\xff"), says=CONTRACT))
    asked = b"".join(bytes(each.data) for each in attempt_with_texts.provider.heard)
    bodies = [part for part in asked.split(b"POST ") if part.startswith(b"/v1/chat/completions")]
    assert bodies
    assert all(is_variation(body) for body in bodies)  # of the resumed run: what came first is on record


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_what_a_provider_that_writes_complains_of_is_shown_as_text(attempt_with_texts: Attempt, message: str):
    complaint = json.dumps(
        {"error": {"message": message, "type": "invalid_request_error", "code": message[:200]}}
    )
    act = writes(response(complaint.encode(), "400 Bad Request"), close=False)
    attempt_with_texts(Case(f"400 with {message[:10]!r}", "variation", act, says="HTTP 400"))
