"""The first screen says what left, what an attacker can tell and what that rests on, as the record has it."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scipy import stats

from pcevolve.dp.tradeoff import most_true_positives
from pcevolve.pages.report.brief import Brief, _days
from pcevolve.pages.report.source import TrafficTable
from pcevolve.privacy import Event
from pcevolve.public.fields import IN_PROCESS, Earlier
from pcevolve.public.plan import PublicPlan
from pcevolve.transcript import RunReader
from support.runs import small_plan

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


def test_a_run_that_sent_no_image_says_so(finished: Make):
    root = finished(iterations=0, strengths=(), method="t2i", keep="last")
    assert "No image was sent." in brief_of(root).left
    assert "no private image was looked at" in brief_of(root).stayed


def test_the_odds_are_those_of_the_exact_curve_rounded_up(finished: Make):
    exact = 100 * stats.norm.cdf(stats.norm.ppf(0.05) + 0.5)
    (share,) = re.findall(r"at most (\d+) of 100", brief_of(finished(), PAID).odds.words)
    assert exact <= int(share) < exact + 1
    assert int(share) >= 100 * most_true_positives(PAID, 0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"relation": "replace-one"},
            "whether one given image was used, or another in its place, and says yes",
        ),
        ({"relation": "add-remove"}, "whether one given image was used, and says yes in 5 of 100"),
        ({"unit": "patient", "relation": "add-remove"}, "one given patient's images were used, and says yes"),
        (
            {"unit": "patient", "relation": "replace-one"},
            "one given patient's images were used, or another in its place, and",
        ),
    ],
)
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
        ({"api": IN_PROCESS}, [], "Nobody can tell."),
    ],
)
def test_where_nothing_is_promised_or_paid_there_is_no_figure(
    finished: Make, changes: dict[str, object], events, words: str
):
    found = brief_of(finished(), events, **changes).odds
    assert (found.short, found.together) == (words, "")
    assert not re.search(r"\d", found.words)


def test_the_odds_hang_on_the_generator_where_there_was_no_boundary(finished: Make):
    root = finished()
    found = brief_of(root, PAID, api=IN_PROCESS).odds.words
    assert found.endswith("That holds only if the generator looked at nothing but what it was asked.")
    assert "generator" not in brief_of(root, PAID).odds.words


def test_earlier_releases_to_the_provider_are_added_for_whom_all_of_them_concern(finished: Make):
    exact = 100 * stats.norm.cdf(stats.norm.ppf(0.05) + math.hypot(0.5, 1))
    earlier = Earlier(releases=2, events=(Event("gaussian", "1"),))
    root = finished()
    found = brief_of(root, PAID, earlier=earlier).odds
    assert found.together == f"For it the figure is {math.ceil(exact)} of 100."
    assert found.short == brief_of(root, PAID).odds.short
    for unknown in (Earlier(), Earlier(releases=2, events=None)):
        assert brief_of(root, PAID, earlier=unknown).odds.together == ""


def test_without_a_boundary_nothing_is_said_to_have_stayed(finished: Make):
    assert brief_of(finished(), PAID, api=IN_PROCESS).stayed.startswith("Nobody can tell")


def test_images_without_a_reason_take_the_reassurance_away(finished: Make):
    run = RunReader.strict(finished())
    traffic = dataclasses.replace(TrafficTable.of(run.traffic, run.require_plan()), unexplained=1)
    found = Brief.of(run.require_plan(), PAID, traffic, run.traffic.attempts)
    assert "no reason" in found.stayed


def test_three_sentences_say_what_it_rests_on(finished: Make):
    root = finished()
    for unit, word in (("image", "one image"), ("patient", "belong to one patient")):
        found = brief_of(root, PAID, unit=unit).assumptions
        assert len(found) == 3
        assert word in found[1]


def test_dates_are_the_providers_and_what_is_none_is_passed_over():
    said = "Sun, 22 Nov 2026 23:59:00 GMT"
    (day,) = _days([("Date", said), ("date", "yesterday"), ("Expires", "Mon, 01 Jan 2001 00:00:00 GMT")])
    assert day.date().isoformat() == "2026-11-22"
    assert _days([("date", "Sun, 99 Nov 2026 23:59:00 GMT")]) == []


def test_the_zone_of_the_machine_that_makes_the_page_does_not_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        (unzoned,) = _days([("Date", "Sun, 22 Nov 2026 23:59:00 -0000")])
        (zoned,) = _days([("Date", "Mon, 23 Nov 2026 08:59:00 +0900")])
    finally:
        monkeypatch.undo()
        time.tzset()
    assert unzoned == zoned == datetime(2026, 11, 22, 23, 59, tzinfo=UTC)


def test_a_plan_of_any_kind_has_a_brief():
    plan: PublicPlan = small_plan()
    empty = TrafficTable.of(type("Nothing", (), {"attempts": [], "plan": plan, "steps": []})(), plan)
    assert Brief.of(plan, [], empty, []).when == "The answers name no date."
