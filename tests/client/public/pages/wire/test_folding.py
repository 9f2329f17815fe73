"""Bodies of requests and answers on the page: their fields, folded where they are long, and what does not open."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.pages.wire.folding import (
    MOST_CHARACTERS,
    MOST_FIELDS,
    MOST_VALUES,
    WHOLE,
    FoldedRequest,
    group_requests,
    list_fields,
)
from pcevolve.public.transcript.bodies import BodyRef
from pcevolve.public.transcript.records import Sent
from pcevolve.public.transcript.traffic import Attempt
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.provider import FakeProvider
from support.viewer import Page, html, steps


@pytest.mark.parametrize("text", ["plain", "[" * 100_000, "--xyz\r\nno blank line\r\n--xyz--\r\n", '{"a":'])
def test_a_body_of_no_known_shape_is_shown_whole_and_what_is_left_out_is_counted(text: str):
    (field,), more = list_fields(text)
    assert more == 0
    assert field.parts[0].text == text[:MOST_CHARACTERS]
    assert field.parts[0].left_out == max(0, len(text) - MOST_CHARACTERS)


Make = Callable[..., Path]


def attempt(number: int, body: str) -> Attempt:
    """A request with this body, of which nothing came."""
    reference = BodyRef(sha256="0" * 64, size=len(body), text=body)
    sent = Sent(
        slot="s", method="POST", url="http://h/x", headers=(("a", "b"),), body=reference, wire_bytes=10
    )
    return Attempt(number, number, sent, None, 1, None, True, None)


def busy(times: int) -> FakeProvider:
    """An API that says so to the first requests for images, and gives an image with its refusal."""
    asked: list[Outgoing] = []

    def meddle(request: Outgoing) -> Incoming | None:
        asked.append(request)
        refused = 2 <= len(asked) < 2 + times
        return Incoming(503, (("Retry-After", "0"),), b'{"error": "busy"}') if refused else None

    return FakeProvider(meddle)


def groups(root: Path) -> list[Page]:
    parts = re.split(r'(?=<article class="group)', html(root).partition('id="findings"')[0])[1:]
    return [Page(part) for part in parts]


def test_what_left_comes_before_what_was_checked_and_before_any_retry(finished: Make):
    content = html(finished(busy(3)))
    assert content.index('id="left"') < content.index('id="findings"') < content.index('id="requests"')
    assert "status 503" not in Page(content.partition('id="findings"')[0]).text


def test_a_request_that_was_refused_first_stands_once_under_its_answer_with_every_refusal_below(
    finished: Make,
):
    root = finished(busy(3))
    shown = steps(root)
    assert not {"r2", "r3", "r4"} & shown.keys()
    request = shown["r5"]
    assert "prompt A leather texture image" in request.text
    assert "The same bytes were sent 3 more times: status 503 … status 503" in request.text
    below = [each["id"] for tag, each in request.elements if tag == "li" and "id" in each]
    assert below == ["r2", "r3", "r4"]
    assert request.text.count('{"error": "busy"}') == 3
    assert request.text.count("Retry-After 0") == 3
    assert "data-trouble" in request.elements[0][1]
    assert "16 requests. Requests with the same fields are shown together" in Page(html(root)).text
    assert "Requests 16, 3 of them repeated" in Page(html(root)).text


def test_a_value_that_the_plan_did_not_give_is_seen_among_those_that_left(finished_otherwise: Make):
    root = finished_otherwise(negative_prompt="x" * 3000 + "smuggled")
    varied = groups(root)[0]
    assert re.search(
        r"negative_prompt 2 different values empty #\d+ x{2000} and 1,008 more characters", varied.text
    )


def test_what_is_not_listed_is_counted():
    wide = json.dumps({f"f{place:04d}": 1 for place in range(MOST_FIELDS + 3)})
    many = [
        FoldedRequest(attempt(number, json.dumps({"a": f"v{number}"})))
        for number in range(1, MOST_VALUES + 6)
    ]
    assert group_requests([FoldedRequest(attempt(1, wide))])[0].unlisted == 3
    (column,) = group_requests(many)[0].body
    assert (len(column.values), column.different) == (MOST_VALUES, MOST_VALUES + 5)


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=4) | st.integers(0, 9)), max_size=12)
)
def test_every_request_is_in_one_group_and_every_value_is_counted(bodies):
    requests = [FoldedRequest(attempt(number, json.dumps(body))) for number, body in enumerate(bodies, 1)]
    expected = Counter(tuple(body) or (WHOLE,) for body in bodies)
    values = {
        names: [len({str(body[name]) for body in bodies if tuple(body) == names}) for name in names]
        for names in expected
        if names != (WHOLE,)
    }
    found = {tuple(column.name for column in group.body): group for group in group_requests(requests)}
    assert {names: group.requests for names, group in found.items()} == expected
    for names, different in values.items():
        assert [column.different for column in found[names].body] == different
        assert len(found[names].same) == different.count(1)
