"""Methods: every one fits its budget, says what it promises, and is found by its name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pcevolve import selectors
from pcevolve.dp.accountants import within
from pcevolve.errors import UsageError
from pcevolve.privacy import FREE, Budget, Event
from pcevolve.selectors import METHODS, Scope, method
from pcevolve.selectors.method import Schedule
from support.runs import small_plan

PRIVATE = sorted(name for name, each in METHODS.items() if each.selector is not None)
RELATIONS = ("replace-one", "add-remove")


def scope(**changes: object) -> Scope:
    values: dict[str, object] = {
        "relation": "replace-one",
        "iterations": 3,
        "classes": 2,
        "shots": 10,
        "candidates": 100,
    }
    return Scope(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["random", "t2i"])
def test_a_method_that_does_not_look_costs_nothing(name):
    rounds = method(name).events(Budget(Fraction(1)), scope())
    assert all(event.free for each in rounds for event in each)


def test_a_statement_tells_a_sum_from_a_composition():
    pure = method("pcevolve").statement(small_plan(method="pcevolve"))
    assert pure == method("pcevolve").guarantee
    rounds, strengths = 20, (0.5,) * 20
    composed = method("pcevolve").statement(
        small_plan(method="pcevolve", delta=1e-5, iterations=rounds, strengths=strengths)
    )
    assert composed.startswith(
        f"{pure}; the epsilon of this run holds with delta = 1e-05, at which its draws compose"
    )
    assert composed.endswith("with delta = 0 it is the sum, 10")


@pytest.mark.parametrize("name", ["pe", "dp-means"])
def test_a_statement_names_the_access_to_the_appearance_if_there_is_one(name):
    plan = small_plan(method=name, delta=1e-5, appearance="matched")
    assert "one Gaussian release of the sum of six numbers per image" in method(name).statement(plan)
    assert "six numbers" not in method(name).statement(plan.model_copy(update={"appearance": "as-is"}))


@pytest.mark.parametrize(("candidates", "draws"), [(7, 1), (12, 4), (40, 5), (100, 5)])
def test_votes_draw_as_many_candidates_as_there_are_prototypes_and_pay_for_no_more(candidates, draws):
    chosen, sizes = method("pe-em"), scope(candidates=candidates)
    ((event,), *_) = chosen.events(Budget(Fraction(10)), sizes)
    assert event.count == draws == chosen.prototypes_for(candidates)
    assert chosen.accesses(Budget(Fraction(10)), sizes)[1] == (Event("exponential", str(event.value), draws),)


def test_published_calibrations_add_more_noise_than_tight_ones():
    budget = Budget(Fraction(10), 1e-5)
    tight, published = (
        method("pe").events(budget, scope(), each)[0][0].value for each in ("tight", "published")
    )
    assert published > tight


def test_a_method_without_a_published_calibration_says_so():
    with pytest.raises(UsageError, match="has only one calibration"):
        method("jvem").events(Budget(Fraction(1)), scope(), "published")


@pytest.mark.parametrize("name", ["pe", "dp-means"])
def test_gaussian_noise_needs_a_delta(name):
    with pytest.raises(UsageError, match="--delta"):
        method(name).events(Budget(Fraction(1)), scope())


def test_a_dataset_that_is_selected_from_what_was_released_costs_nothing_more():
    plan = small_plan(method="dp-means", keep="selected", pool="all", delta=1e-5)
    planned = method("dp-means").planned(plan)
    assert set(planned) == {1, 2, 3}
    assert len(planned[1]) == 1
    assert not planned[1][0].free
    assert planned[2] == planned[3] == (FREE,)


def test_a_centre_is_released_before_deviations_from_it_where_the_plan_says_so():
    plan = small_plan(method="dp-means", keep="selected", delta=1e-5, centre_first=True)
    at_once = method("dp-means").planned(plan.model_copy(update={"centre_first": False}))[1][0].value
    centre, deviations = (event.value for event in method("dp-means").planned(plan)[1])
    assert float(at_once / centre) ** 2 == pytest.approx(0.2)
    assert float(at_once / deviations) ** 2 == pytest.approx(0.8)
    assert 1 / centre**2 + 1 / deviations**2 <= 1 / at_once**2
    assert within(method("dp-means").planned(plan)[1], plan.budget)


def test_only_a_method_that_releases_means_has_a_centre():
    with pytest.raises(UsageError, match="releases no means"):
        method("pe").planned(small_plan(method="pe", delta=1e-5, centre_first=True))


def test_only_a_method_that_remembers_can_select_its_dataset():
    with pytest.raises(UsageError, match="cannot choose its dataset"):
        method("pcevolve").planned(small_plan(method="pcevolve", keep="selected"))
    assert method("random").planned(small_plan(keep="selected"))[3] == (Event("uniform"),)


def test_auto_chooses_from_public_sizes_and_says_why():
    chosen, reason = selectors.resolved("auto", Budget(Fraction(10), 1e-5), scope())
    assert chosen.name == "dp-means"
    assert "clip radii" in reason
    poor, reason = selectors.resolved("auto", Budget(Fraction(1), 1e-5), scope())
    assert poor.name == "pe"
    assert "drowns" in reason
    assert selectors.resolved("auto", Budget(Fraction(1), 1e-5), scope(shots=100))[0].name == "dp-means"
    pure, reason = selectors.resolved("auto", Budget(Fraction(10)), scope())
    assert pure.events(Budget(Fraction(10)), scope())
    assert "delta is 0" in reason


def test_a_method_by_name_is_taken_as_it_is():
    assert selectors.resolved("pe", Budget(Fraction(1), 1e-5), scope()) == (method("pe"), "")


def test_the_papers_b_is_text_to_image_alone():
    assert method("b") is method("t2i")
    assert selectors.resolved("b", Budget(Fraction(1)), scope())[0].name == "t2i"


@pytest.mark.parametrize(
    ("name", "where"),
    [("init", "-bench table"), ("private", "evaluate"), ("dp-means-classifier", "classify")],
)
def test_a_row_of_the_papers_tables_that_makes_no_dataset_is_refused_with_where_it_is(name: str, where: str):
    with pytest.raises(UsageError, match=rf"'{name}' makes no dataset.*'pcevolve ?{where}"):
        method(name)


def test_an_unknown_method_is_refused_with_the_choices():
    with pytest.raises(
        UsageError,
        match="choose one of aug-pe, auto, dp-means, jvem, pcevolve, pe, pe-em, random, secpe, t2i",
    ):
        selectors.default_delta("magic")


def test_appearance_is_asked_for_by_default_only_where_noise_leaves_something_to_match():
    dp_means = method("dp-means")
    looks = [dp_means.appearance_for(Budget(Fraction(total), 1e-5), scope()) for total in (1, 2, 10)]
    assert looks == ["as-is", "as-is", "auto"]
    assert dp_means.appearance_for(Budget(Fraction(10), 1e-5), scope(shots=1)) == "as-is"
    assert dp_means.appearance_for(Budget(Fraction(1), 1e-5), scope(shots=500)) == "auto"
    assert method("pe").appearance_for(Budget(Fraction(10), 1e-5), scope()) == "as-is"


def test_a_method_that_cannot_tell_which_look_is_nearer_is_refused():
    shape = {"appearance": "auto", "keep": "selected", "delta": 1e-5}
    for name, reason in (("pe", "leave method.keep out"), ("random", "Gaussian noise alone")):
        with pytest.raises(UsageError, match=reason):
            method(name).planned(small_plan(method=name, **shape))


def test_appearance_is_paid_for_out_of_the_same_budget():
    budget, sizes = Budget(Fraction(10), 1e-5), scope()
    matched = method("dp-means").accesses(budget, sizes, appearance="matched")
    alone = method("dp-means").accesses(budget, sizes, appearance="as-is")
    assert set(matched) == {0, *alone}
    assert matched[1][0].value > alone[1][0].value
    assert within([event for events in matched.values() for event in events], budget)
    with pytest.raises(UsageError, match="Gaussian noise alone"):
        method("pcevolve").accesses(Budget(Fraction(1)), sizes, appearance="matched")


@pytest.mark.parametrize(
    ("candidates", "prototypes"), [(100, 10), (4, 4), (7, 7), (13, 1), (60, 10), (45, 9)]
)
def test_default_prototypes_share_the_candidates_evenly(candidates, prototypes):
    assert method("dp-means").prototypes == 10
    assert method("dp-means").prototypes_for(candidates) == prototypes
    assert method("pe").prototypes_for(candidates) == candidates


@pytest.mark.parametrize("candidates", [10_000, 151_218, 1_000_000])
def test_private_evolution_varies_as_many_images_as_a_class_has(candidates: int):
    assert method("pe").prototypes_for(candidates) == candidates
    sized = small_plan(method="pe", delta=1e-5, candidates=candidates, prototypes=candidates)
    assert sized.initial == candidates


def test_schedules_go_down_by_steps_or_in_a_line():
    assert Schedule(0.8, 0.6, step=0.02).over(3) == (0.8, 0.78, 0.76)
    assert Schedule(0.8, 0.6, step=0.02).over(30)[-1] == 0.6
    assert Schedule(0.98, 0.6).over(3) == (0.98, 0.79, 0.6)
    assert Schedule(0.98, 0.6).over(1) == (0.98,)
    assert Schedule(0.8, 0.6).over(0) == ()
