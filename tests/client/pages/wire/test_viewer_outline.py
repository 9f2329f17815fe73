"""The wire page begins with all that left in one table, and folds rows of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pcevolve.egress.transport import Incoming, Outgoing
from pcevolve.pages.wire.outline import MOST_SHOWN, MOST_VALUES, outline
from pcevolve.transcript import RunReader
from support.provider import FakeProvider
from support.viewer import Page, html

Make = Callable[..., Path]


def busy(times: int) -> FakeProvider:
    """An API that is busy so often before it serves the second request."""
    asked: list[Outgoing] = []

    def meddle(request: Outgoing) -> Incoming | None:
        asked.append(request)
        return Incoming(503, (("Retry-After", "0"),), b"{}") if 2 <= len(asked) < 2 + times else None

    return FakeProvider(meddle)


def test_the_table_has_every_value_of_every_field_of_every_body(finished: Make):
    attempts = RunReader.strict(finished()).traffic.attempts
    listed, more = outline(attempts)
    assert more == 0
    bodies = [json.loads(each.sent.body.text) for each in attempts if each.sent.body.text]
    by_name = {each.name: each for each in listed}
    assert set(by_name) == {name for body in bodies for name in body}
    for name in ("prompt", "seed", "model"):
        values = [str(body[name]) for body in bodies if name in body]
        assert list(by_name[name].values) == list(dict.fromkeys(values))
        assert by_name[name].requests == len(values)
    carried = {digest for each in attempts for digest in each.carried}
    assert set(by_name["image"].images) == carried
    assert not by_name["image"].values


def test_it_comes_before_anything_else_and_shows_words_but_not_every_seed(finished: Make):
    root = finished(
        candidates=4 * MOST_VALUES, batch=1, iterations=0, strengths=(), method="t2i", keep="last"
    )
    text = Page(html(root)).text
    assert text.index("What left, in one table") < text.index("What was checked")
    listed, _ = outline(RunReader.strict(root).traffic.attempts)
    seeds = next(each for each in listed if each.name == "seed")
    assert len(seeds.values) > MOST_VALUES
    assert f"{seeds.shown[0]} … {seeds.shown[1]}" in text
    assert seeds.shown == [next(iter(seeds.values)), list(seeds.values)[-1]]


def test_what_is_too_much_is_counted(finished: Make):
    attempts = RunReader.strict(finished()).traffic.attempts
    carrying = next(each for each in attempts if each.sent.body.text)
    many = json.dumps({f"field {number}": number for number in range(150)})
    carrying.sent = carrying.sent.model_copy(
        update={"body": carrying.sent.body.model_copy(update={"text": many})}
    )
    listed, more = outline([carrying])
    assert (len(listed), more) == (MOST_SHOWN, 50)


@pytest.mark.parametrize(("times", "folded"), [(1, 0), (2, 0), (3, 2)])
def test_a_row_of_the_same_bytes_is_folded_but_for_its_first_and_last(
    finished: Make, times: int, folded: int
):
    content = html(finished(busy(times)))
    page = Page(content)
    assert len(page.of_class("fold")) == bool(folded)
    if folded:
        inside = content[content.index('<details class="fold">') :]
        inside = inside[: inside.index("\n  </details>")]
        assert f"{folded} more attempts with the same bytes" in inside
        assert inside.count("<article") == inside.count("</article>") == folded
        assert 'id="r2"' not in inside
        assert f'id="r{2 + times}"' not in inside
