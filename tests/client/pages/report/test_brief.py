"""The first screen of a report: what left, and what an attacker can tell."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pcevolve.dp.attacks import most_true_positives
from pcevolve.pages.reasons import TrafficTable
from pcevolve.pages.report.brief import Brief
from pcevolve.pages.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Protection
from pcevolve.privacy import Event
from pcevolve.public.parts import Earlier, Secrecy
from pcevolve.transcript import RunReader

Make = Callable[..., Path]
PAID = [Event("gaussian", "2")]


def brief_of(root: Path, events: list[Event] | None = None, **changes: object) -> Brief:
    run = RunReader.strict(root)
    plan = run.require_plan().model_copy(update=changes)
    traffic = TrafficTable.of(run.traffic, plan)
    paid = [event for receipt in run.receipts for event in receipt.events] if events is None else events
    return Brief.of(plan, paid, traffic, run.traffic.attempts)


def test_what_left_is_counted_as_the_record_counts_it(finished: Make):
    root = finished()
    run, left = RunReader.strict(root), brief_of(root).left
    sent = [each.sent for each in run.traffic.attempts]
    images = {digest for each in sent for digest in each.body.files}
    assert f"{len(sent)} requests, {sum(each.wire_bytes for each in sent):,} bytes" in left
    assert f"{len(images)} different images, which the provider had made itself" in left


def test_what_left_are_words_and_no_names_of_classes_where_words_stand_for_them(finished: Make):
    root = finished()
    assert "with the class names and the words for the domain" in brief_of(root).left
    hidden = brief_of(root, words=("kind 0", "kind 1"))
    assert "with words in place of the class names and the words for the domain" in hidden.left
    assert hidden.assumptions[0].startswith("Words in place of class names")


def test_the_odds_are_those_of_the_exact_curve_rounded_up(finished: Make):
    exact = 100 * stats.norm.cdf(stats.norm.ppf(0.05) + 0.5)
    (share,) = re.findall(r"at most (\d+) of 100", brief_of(finished(), PAID).odds.words)
    assert exact <= int(share) < exact + 1
    assert int(share) >= 100 * most_true_positives(PAID, 0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"relation": "replace-one"}, "whether one given image was used, or another in its place. Whoever wrongly"),
        ({"relation": "add-remove"}, "whether one given image was used. Whoever wrongly says yes in 5 of 100"),
        ({"unit": "patient", "relation": "add-remove"}, "one given patient's images were used. Whoever wrongly"),
        ({"unit": "patient", "relation": "replace-one"}, "patient's images were used, or another in its place."),
    ],
)  # fmt: skip
def test_the_odds_are_about_the_neighbours_of_the_promise(
    finished: Make, changes: dict[str, object], words: str
):
    assert words in brief_of(finished(), PAID, **changes).odds.words


@pytest.mark.parametrize(
    ("changes", "events", "words"),
    [
        ({"noise": "INSECURE-seeded"}, PAID, "No bound."),
        ({"noise": "INSECURE-seeded"}, [], "No bound."),
        ({}, [], "Nothing: no private image was looked at."),
    ],
)
def test_where_nothing_is_promised_or_paid_there_is_no_figure(
    finished: Make, changes: dict[str, object], events, words: str
):
    found = brief_of(finished(), events, **changes).odds
    assert (found.short, found.together) == (words, "")
    assert not re.search(r"\d", found.words)


def test_earlier_releases_to_the_provider_are_added_for_whom_all_of_them_concern(finished: Make):
    exact = 100 * stats.norm.cdf(stats.norm.ppf(0.05) + math.hypot(0.5, 1))
    earlier = Earlier(releases=2, events=(Event("gaussian", "1"),))
    root = finished()
    found = brief_of(root, PAID, earlier=earlier).odds
    assert found.together == f"For it the figure is {math.ceil(exact)} of 100."
    assert found.short == brief_of(root, PAID).odds.short
    for unknown in (Earlier(), Earlier(releases=2, events=None)):
        assert brief_of(root, PAID, earlier=unknown).odds.together == ""


def test_the_provider_sees_which_images_were_chosen_only_where_some_went_back_to_it(finished: Make):
    run = RunReader.strict(finished())
    plan, attempts = run.require_plan(), run.traffic.attempts
    traffic = TrafficTable.of(run.traffic, plan)
    prompts = dataclasses.replace(traffic, total=traffic.kinds["text-to-image"])
    assert (
        "the provider sees which of its images were chosen;" in Brief.of(plan, PAID, traffic, attempts).stayed
    )
    assert "the provider sees nothing;" in Brief.of(plan, PAID, prompts, attempts).stayed


def test_images_without_a_reason_take_the_reassurance_away(finished: Make):
    run = RunReader.strict(finished())
    traffic = dataclasses.replace(TrafficTable.of(run.traffic, run.require_plan()), unexplained=1)
    found = Brief.of(run.require_plan(), PAID, traffic, run.traffic.attempts)
    assert "no reason" in found.stayed


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in path.split())]


@given(st.floats(-6, -0.5), st.floats(0.05, 1))
def test_the_curve(power: float, share: float):
    prior = 10.0**power
    drawn = Protection.of(Secrecy(prior=prior, bound=prior ** (1 - 0.9 * share), most=3))
    after, guess = points(drawn.after), points(drawn.guess)
    assert [x for x, _ in after] == [x for x, _ in guess]
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in after)
    assert all(one[1] <= other[1] + 0.2 for one, other in zip(after, guess, strict=True))
    assert all(second[1] <= first[1] for first, second in pairwise(after))
    near = min(after, key=lambda point: abs(point[0] - drawn.mark[0]))
    assert near[1] == pytest.approx(drawn.mark[1], abs=8)
