"""The first screen of a report: what left, and what an attacker can tell."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

from pcevolve.public.dp.attacks import most_true_positives
from pcevolve.public.pages.reasons import TrafficTable
from pcevolve.public.pages.report.brief import Brief
from pcevolve.public.parts import PriorReleases
from pcevolve.public.privacy import Event
from pcevolve.public.transcript.reader import RunReader
from support.briefs import PAID, brief_of

Make = Callable[..., Path]


def test_the_odds_are_those_of_the_exact_curve_rounded_up(finished: Make):
    exact = 100 * stats.norm.cdf(stats.norm.ppf(0.05) + 0.5)
    (share,) = re.findall(r"detects at most (\d+) %", brief_of(finished(), PAID).odds.words)
    assert exact <= int(share) < exact + 1
    assert int(share) >= 100 * most_true_positives(PAID, 0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"relation": "replace-one"}, "whether one given image was used or another one in its place. At a 5 %"),
        ({"relation": "add-remove"}, "whether one given image was used. At a 5 %"),
        ({"unit": "patient", "relation": "add-remove"}, "one given patient's images were used. At a 5 %"),
        ({"unit": "patient", "relation": "replace-one"}, "patient's images were used or another one in its place."),
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
        ({}, [], "Nothing. No private image was looked at."),
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
    earlier = PriorReleases(releases=2, events=(Event("gaussian", "1"),))
    root = finished()
    found = brief_of(root, PAID, earlier=earlier).odds
    assert found.together == f"For this image, an attacker detects at most {math.ceil(exact)} %."
    assert found.short == brief_of(root, PAID).odds.short
    for unknown in (PriorReleases(), PriorReleases(releases=2, events=None)):
        assert brief_of(root, PAID, earlier=unknown).odds.together == ""


def test_the_provider_sees_which_images_were_chosen_only_where_some_went_back_to_it(finished: Make):
    run = RunReader.strict(finished())
    plan, attempts = run.require_plan(), run.traffic.attempts
    traffic = TrafficTable.of(run.traffic, plan)
    prompts = dataclasses.replace(traffic, total=traffic.kinds["creation"])
    assert (
        "the provider learns which of its images were selected."
        in Brief.of(plan, PAID, traffic, attempts).stayed
    )
    assert "the provider learns nothing." in Brief.of(plan, PAID, prompts, attempts).stayed


def test_what_is_assumed_is_about_what_is_protected_and_says_what_kept_it_apart(finished: Make):
    root = finished()
    _, counted, machine = brief_of(root).assumptions
    assert counted.startswith("The guarantee protects one image. ")
    assert " Confinement, as stated by the client: not enforced in this run" in machine
    listed = brief_of(root, unit="patient").assumptions[1]
    assert listed.startswith("The owner's list ")
    assert listed.endswith("which images belong to one patient.")


def test_releases_that_protect_nobody_are_not_called_noisy(finished: Make):
    root = finished()
    assert "the noisy releases whose privacy loss is stated below" in brief_of(root).stayed
    marked = brief_of(root, noise="INSECURE-seeded").stayed
    assert "the releases described below, whose noise protects nobody" in marked
