"""The card of a release and its facts."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import erfc, exp, sqrt

import pytest

from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.promises import state_guarantee
from pcevolve.public.publish.release import write_card, write_front_matter
from pcevolve.public.release import Receipt
from pcevolve.public.selectors import find_method
from pcevolve.public.settings import Form
from pcevolve.public.transcript.records import ReleasedImage
from support.releases import release
from support.runs import RUN_ID, small_plan

FILES = [ReleasedImage(path=f"cut/{n}.png", sha256=n * 64, candidate=n, received_sha256=n * 64) for n in "ab"]


def test_the_card_states_guarantee_and_assumptions():
    text = write_card(release(), FILES)
    assert "epsilon = 5, delta = 0, neighbour relation `replace-one`, privacy unit: one image" in text
    assert "class names: cut, good" in text
    fewer = "(6 were planned; duplicates and unusable answers are left out)"
    assert f"2 synthetic images in 2 classes, all of them distinct {fewer}, made by" in text
    assert (
        "selected with the help of private images under differential privacy. The dataset contains no private image"
        in text
    )
    assert "names the transcript that proves what was sent" in text
    assert not any(each in text for each in ("INSECURE", "asked for later", "None"))
    assert release().guarantee.epsilon_spent == 5


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon of mu-GDP at a delta, by bisection over the formula of Balle and Wang (2018, Theorem 8)."""

    def find_missed(epsilon: float) -> float:
        tails = [erfc((epsilon / mu + sign * mu / 2) / sqrt(2)) / 2 for sign in (-1, 1)]
        return tails[0] - exp(epsilon) * tails[1]

    low, high = 0.0, 500.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if find_missed(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("event", "delta", "spent", "folder", "independent"),
    [
        (Event("exponential", "5/4", 4), 0.0, 5.0, 10.0, 2 * 4 * 1.25),
        (Event("permute-and-flip", "1/2", 6), 0.0, 3.0, 6.0, 2 * 6 * 0.5),
        (Event("gaussian", "1"), 1e-5, 4.377178, 9.997256, gaussian_epsilon(2.0, 1e-5)),
        (Event("gaussian", "2", 3), 1e-5, 3.708635, 8.385419, gaussian_epsilon(sqrt(3), 1e-5)),
        (Event("gaussian", "0.499888619709"), 1e-5, 10.0, 24.38893, gaussian_epsilon(4.000891, 1e-5)),
    ],
)
def test_what_one_unit_of_the_folder_bears_is_that_of_a_group_of_two(
    relation, event, delta, spent, folder, independent
):
    """Pure DP doubles; of Gaussian noise mu doubles and epsilon grows by more, so that 10 is 24.4 and never 20."""
    drawn = release(subsample=10, delta=delta, relation=relation)
    promised = replace(drawn, receipts=(Receipt(RUN_ID, 1, (), (event,), relation),)).guarantee
    assert promised.epsilon_drawn == pytest.approx(spent, rel=1e-5)
    assert promised.epsilon_spent == pytest.approx(folder, rel=1e-5)
    assert promised.epsilon_spent == pytest.approx(independent, rel=1e-5)


def test_only_a_run_that_draws_and_promises_something_says_what_the_folder_bears():
    assert release().guarantee.epsilon_drawn is None
    assert release(subsample=10, noise="INSECURE-seeded").guarantee.epsilon_drawn is None
    for silent in (release(), release(subsample=10, noise="INSECURE-seeded")):
        assert "of the whole folder" not in write_card(silent, FILES)
    card = write_card(release(subsample=10), FILES)
    assert "epsilon = 10 for one image of the whole folder (5 for one that was drawn), delta = 0" in card


def top(plan: PublicPlan, images: int, form: Form | None) -> str:
    return write_front_matter(plan, state_guarantee(plan, find_method(plan.method.name), ()), images, form)


PROMISE = {"method": "random", "epsilon": 0.0, "delta": 0.0, "relation": "replace-one", "unit": "image"}


def test_the_facts_of_a_card_stand_at_its_top_for_programs():
    (line,) = (each for each in top(small_plan(), 12, None).splitlines() if each.startswith("pcevolve: "))
    assert json.loads(line.removeprefix("pcevolve: ")) == PROMISE


@pytest.mark.parametrize("multiplier", ["1", "7/3", "0.499888619709"])
def test_an_epsilon_is_stated_upwards_in_digits_that_all_machines_share(multiplier):
    paid = (Receipt(RUN_ID, 1, (), (Event("gaussian", multiplier),), "add-remove"),)
    stated = replace(release(delta=1e-5, relation="add-remove"), receipts=paid).guarantee.epsilon_spent
    exact = gaussian_epsilon(float(1 / Fraction(multiplier)), 1e-5)
    assert stated == float(f"{stated:.9e}")
    assert stated == pytest.approx(exact, rel=1e-6)


def test_an_epsilon_is_not_stated_above_the_budget_that_it_fits():
    third = "1/3"
    paid = (Receipt(RUN_ID, 1, (), (Event("exponential", third),), "replace-one"),)
    promised = replace(release(epsilon=third), receipts=paid).guarantee
    assert promised.epsilon_spent == promised.epsilon_budget == 1 / 3


@pytest.mark.parametrize(
    ("changes", "form", "described"),
    [
        ({}, None, True),
        ({}, "parquet", True),
        ({}, "webdataset", False),
        ({"dialect": "chat"}, None, False),
        ({"dialect": "chat"}, "jsonl", True),
    ],
)
def test_columns_are_described_where_the_datasets_library_loads_such(
    changes, form: Form | None, described: bool
):
    assert ("dataset_info:" in top(small_plan(**changes), 12, form)) is described


def test_an_image_that_nobody_looked_at_is_not_said_to_be_selected():
    text = write_card(replace(release(), method=find_method("random")), FILES)
    assert "and no private image was looked at, " not in text
    assert "behind an API and no private image was looked at. The dataset contains no private image" in text
    assert "with the help of private images" not in text


def test_a_classifier_is_told_with_whose_images_its_frame_is_made_of():
    selected = {
        "method": "dp-means", "delta": 1e-5, "pool": "all", "keep": "selected", "candidates": 2, "initial": 4,
        "prototypes": 2, "iterations": 1, "strengths": (0.8,), "centre_first": True,
    }  # fmt: skip
    text = write_card(replace(release(**selected), method=find_method("dp-means")), FILES)
    assert "a frame made from synthetic candidates" in text
