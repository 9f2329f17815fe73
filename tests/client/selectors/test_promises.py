"""What each method promises, word by word: cards and reports of old runs are rebuilt byte for byte from it."""

from __future__ import annotations

import pytest

from pcevolve.selectors import METHODS
from pcevolve.selectors.method import APPEARANCE, COMPOSED
from support.runs import small_plan

PROMISES = {
    "dp-means": (
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of the sums of clipped, "
        "publicly centred embeddings of all classes together, of L2 sensitivity R under add-remove and 2 "
        "R under replace-one, R being the public clip radius; every selection is post-processing of it"
    ),
    "jvem": (
        "every round is one eta-bounded-range access under add-remove and 2 eta under replace-one: a "
        "privacy unit's vote for a tuple lies in [0, 1] and counts in one block of classes, so blocks "
        "compose in parallel; rounds compose adaptively, by the best of pure, zCDP and Renyi accounting "
        "at the given delta"
    ),
    "pcevolve": (
        "pure epsilon-DP, delta = 0: every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under"
        " replace-one and add-remove, because the factor 1/2 of the exponential mechanism is kept"
    ),
    "pe": (
        "(epsilon, delta)-DP by Gaussian differential privacy: a privacy unit moves the votes of all "
        "classes together by at most 1 in L2 norm under add-remove and by the square root of 2 under "
        "replace-one; the iterations compose. The published calibration is the looser split sigma = "
        "sqrt(2 ln(1.25/delta))/epsilon per step"
    ),
    "aug-pe": (
        "(epsilon, delta)-DP by Gaussian differential privacy: a privacy unit moves the votes of all "
        "classes together by at most 1 in L2 norm under add-remove and by the square root of 2 under "
        "replace-one; the iterations and the selection of the dataset compose"
    ),
    "pe-em": (
        "epsilon-DP, or (epsilon, delta)-DP where composition of bounded-range mechanisms is tighter: "
        "every draw has probability proportional to exp(eta x votes); a privacy unit adds at most 1 vote "
        "in one class, so a draw of all classes together is eta-bounded-range under add-remove and 2 eta "
        "under replace-one"
    ),
    "secpe": (
        "(epsilon, delta)-DP by Gaussian differential privacy: one release of counts of all classes "
        "together, to which a privacy unit adds a vector of L2 norm at most 1, of L2 sensitivity 1 "
        "under add-remove and the square root of 2 under replace-one; every selection is "
        "post-processing of it"
    ),
    "random": ("0-DP: no draw depends on the private data, under either neighbour relation"),
    "t2i": ("0-DP: nothing depends on the private data, under either neighbour relation"),
}


CENTRE_FIRST = (
    "(epsilon, delta)-DP by Gaussian differential privacy: two releases in publicly centred embeddings, the second "
    "chosen after seeing the first: the sum of all embeddings clipped to the public radius R, of L2 sensitivity R "
    "under add-remove and 2 R under replace-one, and the sums by class of their deviations from the centre that it "
    "gives, clipped to R/2, of all classes together, of L2 sensitivity R/2 under add-remove and R under replace-one; "
    "every selection is post-processing of them"
)


def test_the_promise_says_that_a_centre_is_released_first_where_the_plan_does_so():
    plan = small_plan(method="dp-means", keep="selected", delta=1e-5, centre_first=True)
    assert METHODS["dp-means"].statement(plan) == CENTRE_FIRST
    assert [name for name, each in METHODS.items() if each.centre_first] == ["dp-means"]


@pytest.mark.parametrize("name", METHODS)
def test_a_promise_is_printed_as_it_always_was(name):
    assert METHODS[name].guarantee == PROMISES[name]


def test_what_is_added_to_a_promise_is_printed_as_it_always_was():
    assert APPEARANCE == (
        "before that, one Gaussian release of the sum of six numbers per image, clipped to a ball of radius 1, of L2 "
        "sensitivity 1 under add-remove and 2 under replace-one, tells what the images look like on the whole, at a "
        "part of the same epsilon"
    )
    assert COMPOSED == (
        "the epsilon of this run holds with delta = {delta:g}, at which its draws compose to less than their sum; "
        "with delta = 0 it is the sum, {pure:g}"
    )
