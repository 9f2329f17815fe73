"""Methods of the registry: what they cost, promise and refuse."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from pydantic import ValidationError

from pcevolve.errors import UsageError
from pcevolve.public import selectors
from pcevolve.public.dp.accountants import within
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import FREE, Budget, Event
from pcevolve.public.selectors import METHODS, find_method
from pcevolve.public.selectors.method import APPEARANCE
from support.contract import scope
from support.runs import small_plan


@pytest.mark.parametrize("name", ["random", "t2i"])
def test_a_method_that_does_not_look_costs_nothing(name):
    rounds = find_method(name).events(Budget(Fraction(1)), scope())
    assert all(event.free for each in rounds for event in each)


def test_a_statement_tells_a_sum_from_a_composition():
    pure = find_method("pcevolve").statement(small_plan(method="pcevolve"))
    assert pure == find_method("pcevolve").guarantee
    long = small_plan(method="pcevolve", delta=1e-5, iterations=20, strengths=(0.5,) * 20)
    composed = find_method("pcevolve").statement(long)
    assert composed.startswith(f"{pure}. The epsilon of this run holds with delta = 1e-05, at which")
    assert composed.endswith("With delta = 0, epsilon is the sum, 10")


@pytest.mark.parametrize(("candidates", "draws"), [(7, 1), (12, 4), (40, 5), (100, 5)])
def test_votes_draw_as_many_candidates_as_there_are_prototypes_and_pay_for_no_more(candidates, draws):
    chosen, sizes = find_method("pe-em"), scope(candidates=candidates)
    ((event,), *_) = chosen.events(Budget(Fraction(10)), sizes)
    assert event.count == draws == chosen.prototypes_for(candidates)
    assert chosen.accesses(Budget(Fraction(10)), sizes)[1] == (Event("exponential", str(event.value), draws),)


def test_published_calibrations_add_more_noise_than_tight_ones_and_a_method_without_one_says_so():
    budget = Budget(Fraction(10), 1e-5)
    tight, published = (
        find_method("pe").events(budget, scope(), each)[0][0].value for each in ("tight", "published")
    )
    assert published > tight
    with pytest.raises(UsageError, match="has only one calibration"):
        find_method("jvem").events(budget, scope(), "published")


def test_a_dataset_that_is_selected_from_what_was_released_costs_nothing_more():
    plan = small_plan(method="dp-means", keep="selected", pool="all", delta=1e-5)
    planned = find_method("dp-means").plan_events(plan)
    assert set(planned) == {1, 2, 3}
    assert len(planned[1]) == 1
    assert not planned[1][0].free
    assert planned[2] == planned[3] == (FREE,)


def test_auto_chooses_from_public_sizes_and_says_why():
    chosen, reason = selectors.resolve_method("auto", Budget(Fraction(10), 1e-5), scope())
    assert chosen.name == "dp-means"
    assert "clipping radii" in reason
    poor, reason = selectors.resolve_method("auto", Budget(Fraction(1), 1e-5), scope())
    assert poor.name == "pe"
    assert "which hides the means" in reason
    assert selectors.resolve_method("auto", Budget(Fraction(1), 1e-5), scope(shots=100))[0].name == "dp-means"
    # Texts have no look to pay for, so the same budget buys means that are told apart.
    ten = scope(classes=10)
    assert selectors.resolve_method("auto", Budget(Fraction("1.3"), 1e-5), ten)[0].name == "pe"
    assert selectors.resolve_method("auto", Budget(Fraction("1.3"), 1e-5), ten, "as-is")[0].name == "dp-means"
    pure, reason = selectors.resolve_method("auto", Budget(Fraction(10)), scope())
    assert pure.events(Budget(Fraction(10)), scope())
    assert "delta is 0" in reason


def test_a_method_that_cannot_tell_which_look_is_nearer_is_refused():
    shape = {"appearance": "auto", "keep": "selected", "delta": 1e-5}
    for name, reason in (("pe", "leave method.keep out"), ("random", "only Gaussian noise")):
        with pytest.raises(UsageError, match=reason):
            find_method(name).plan_events(small_plan(method=name, **shape))


@pytest.mark.parametrize("name", sorted(selectors.METHODS))
def test_a_plan_of_more_votes_than_one_is_refused_for_a_method_that_pays_for_one(name):
    written = json.loads(small_plan(method=name, delta=1e-5).model_dump_json())
    written["method"]["votes"] = 2
    if "votes" in METHODS[name].own_options:
        find_method(name).plan_events(PublicPlan.model_validate(written))
        return
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        PublicPlan.model_validate(written)


def test_appearance_is_paid_for_out_of_the_same_budget():
    budget, sizes = Budget(Fraction(10), 1e-5), scope()
    matched = find_method("dp-means").accesses(budget, sizes, appearance="matched")
    alone = find_method("dp-means").accesses(budget, sizes, appearance="as-is")
    assert set(matched) == {0, *alone}
    assert matched[1][0].value > alone[1][0].value
    assert within([event for events in matched.values() for event in events], budget)
    with pytest.raises(UsageError, match="only Gaussian noise"):
        find_method("pcevolve").accesses(Budget(Fraction(1)), sizes, appearance="matched")


@pytest.mark.parametrize("name", METHODS)
def test_a_promise_names_what_a_privacy_unit_moves_under_both_relations(name):
    method = METHODS[name]
    if method.sensitivity is None:
        assert method.guarantee.startswith("0-DP: ")
        assert method.guarantee.endswith("under either neighbour relation")
        return
    ratio = method.sensitivity.of("replace-one") / method.sensitivity.of("add-remove")
    words = {
        1: r"the same epsilon holds under replace-one and add-remove",
        2: r"under add-remove and 2 \S+ under replace-one",
    }
    root = r"\b1 .*under add-remove and (by )?the square root of 2 under replace-one"
    assert re.search(words.get(ratio, root), method.guarantee, re.IGNORECASE)
    assert ratio in (1, 2, pytest.approx(2**0.5))


def test_the_promise_of_an_appearance_names_its_sensitivity():
    assert "L2 sensitivity 1 under add-remove and 2 under replace-one" in APPEARANCE


@pytest.mark.parametrize(
    ("name", "accesses"),
    [("aug-pe", [1]), ("secpe", [1]), ("dp-means", [0, 1]), ("pe", []), ("pcevolve", [])],
)
def test_without_rounds_the_dataset_s_selection_alone_is_paid_for(name, accesses):
    assert [*find_method(name).accesses(Budget(Fraction(10), 1e-5), scope(iterations=0))] == accesses


def test_the_rounds_are_the_user_s_where_a_method_varies_anything_and_else_its_own():
    budget, random = Budget(Fraction(10)), find_method("random")
    assert [random.iterations(each, budget, scope()) for each in (None, 3, 0)] == [20, 3, 0]
    assert [find_method("t2i").iterations(each, budget, scope()) for each in (None, 3)] == [0, 0]
