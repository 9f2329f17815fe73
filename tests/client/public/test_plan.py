"""The plan: public, complete, and the same for everybody who describes the same run."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pcevolve.evolution import cut_to_proportion
from pcevolve.privacy import Event
from pcevolve.public.modality import Texts
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, PublicEcho, Receipt
from support.runs import following_plan, small_plan


@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 4), st.integers(2, 5))
def test_every_class_gets_its_images_in_every_iteration(candidates, batch, iterations, classes):
    plan = small_plan(
        labels=tuple(f"c{k}" for k in range(classes)),
        candidates=candidates + 2 * (not iterations),
        initial=candidates + 2,
        batch=batch,
        iterations=iterations,
        strengths=(0.8,) * iterations,
    )
    made: dict[tuple[int, str], list[int]] = {}
    for call in plan.calls.values():
        assert 1 <= call.count <= batch
        made.setdefault((call.iteration, call.label), []).extend(range(call.first, call.first + call.count))
    rounds = product(range(iterations + 1), plan.labels)
    assert made == {(t, label): list(range(candidates + 2 * (t == 0))) for t, label in rounds}


@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4), st.integers(1, 4))
def test_lookahead_and_extensions_vary_every_image_in_public_order(looks, more, batch, candidates):
    plan = small_plan(candidates=candidates, initial=candidates, lookahead=looks, more=more, batch=batch)
    made = [call.output(index) for call in plan.calls.values() for index in range(call.count)]
    assert len(made) == len(set(made))
    varied: Counter[tuple[str, str | None]] = Counter()
    for call in plan.calls.values():
        if call.source is not None:
            assert made.index(call.source) < made.index(call.output(0))
            varied[call.purpose, call.source] += call.count
    per_class = {"look": 2 * candidates * looks, "extend": candidates * more}
    for purpose, copies in (("look", looks), ("extend", more)):
        counts = [count for (kind, _), count in varied.items() if kind == purpose]
        assert set(counts) <= {copies}
        assert sum(counts) == 2 * per_class[purpose]


def test_a_selected_dataset_takes_one_more_release():
    assert small_plan().releases == (1, 2)
    plan = small_plan(keep="selected")
    assert plan.releases == (1, 2, 3)
    assert [plan.wanted(t) for t in plan.releases] == [1, 1, 3]
    alone = small_plan(keep="selected", iterations=0, strengths=())
    assert (alone.releases, alone.wanted(1)) == ((1,), 3)
    assert small_plan(appearance="matched").releases == (0, 1, 2)
    assert small_plan(appearance="auto", keep="selected").releases == (0, 1, 2, 3)


def test_a_plan_asks_for_a_few_images_of_every_class_first():
    plan = small_plan(candidates=40, batch=32)
    told = [(call.label, call.first, call.count) for call in plan.round(0)]
    assert told == [("cut", 0, 8), ("good", 0, 8), ("cut", 8, 32), ("good", 8, 32)]
    assert plan.opening == tuple(plan.round(0))[:2]
    one_by_one = small_plan(candidates=40, batch=1)
    assert len(one_by_one.opening) == 2 * 8
    assert len(small_plan(candidates=2, batch=4).opening) == 2


def make_prompted(wordings: int, labels: tuple[str, ...] = ("cut", "good"), **options: object) -> PublicPlan:
    """A plan with several prompts for each class."""
    prompts = tuple(tuple(f"{label} {k}" for k in range(wordings)) for label in labels)
    return small_plan(prompts=prompts, **options)


@given(initial=st.integers(1, 60), wordings=st.integers(1, 60), batch=st.integers(1, 40))
def test_prompts_of_a_class_share_its_first_images_equally_and_in_order(initial, wordings, batch):
    wordings = min(wordings, initial)
    plan = make_prompted(wordings, initial=initial, candidates=initial, batch=batch)
    for label in plan.labels:
        asked = [
            plan.prompt_of(call) for call in plan.round(0) if call.label == label for _ in range(call.count)
        ]
        assert asked == sorted(asked, key=lambda prompt: int(prompt.split()[1]))
        assert len(asked) == initial
        shares = Counter(asked)
        assert len(shares) == wordings
        assert max(shares.values()) - min(shares.values()) <= 1
    assert all(plan.prompt_of(call) == plan.prompt(call.label) for call in plan.round(1))
    opened = Counter[str]()
    for call in plan.opening:
        opened[call.label] += call.count
    assert set(opened.values()) <= {min(8, initial), *range(8, 16)}


def test_where_prompts_are_varied_no_call_has_a_strength_and_the_wording_of_a_variation_is_left_open():
    plan = make_prompted(2, candidates=4, prototypes=2, lookahead=1, more=1, vary_by="prompt", strengths=())
    assert {call.strength for call in plan.calls.values()} == {None}
    assert {call.wording for call in plan.calls.values() if call.purpose == "create"} == {0, 1}
    assert {call.wording for call in plan.calls.values() if call.purpose != "create"} == {None}
    filled = dataclasses.replace(plan.calls["i001/c001/n000000"], wording=1)
    assert plan.prompt_of(filled) == "good 1"
    assert type(plan).model_validate_json(plan.model_dump_json()) == plan


def test_wire_seeds_come_from_the_public_seed_alone():
    assert [c.seed for c in small_plan().round(0)] == [c.seed for c in small_plan(run_id="f" * 32).round(0)]
    assert [c.seed for c in small_plan().round(0)] != [c.seed for c in small_plan(run_seed=8).round(0)]


SECRETS = {
    "dialect": "chat",
    "method": "secpe",
    "delta": 1e-5,
    "shots": 3,
    "secrecy": {"prior": 1e-4, "bound": 1e-3, "most": 1},
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": ()}, "at least 1 item"),
        ({"keep": "selected", "more": 2}, "cannot be extended"),
        ({"subsample": 4, "shots": 3}, "subsample: so many units of each class are drawn"),
        (
            {**SECRETS, "subsample": 3, "unit": "text"},
            "a text is drawn by its own words, so nothing can be promised of secrets in it",
        ),
        ({"appearance": "auto"}, "say matched or as-is"),
        ({"labels": ("cut", "cut")}, "same name"),
        ({"labels": ("../x", "cut")}, "begins or ends with a blank or a dot"),
        ({"strengths": (0.8,)}, "one per iteration"),
        ({"prompt_template": "an image"}, "is missing"),
        ({"candidates": 3, "prototypes": 2}, "multiple of"),
        ({"api": "http://u:p@host"}, "pattern"),
        ({"epsilon": "1/0"}, "pattern"),
        ({"surprise": 1}, "Extra inputs"),
        ({"window": "3,3"}, "LOW must be below HIGH"),
        ({"window": "-inf,3"}, "both must be numbers"),
        ({"window": "3"}, "two numbers with a comma between"),
        ({"words": ("x", "x"), "labels": ("class 1", "class 2")}, "the same for all classes"),
        ({"prompts": (("a",),)}, "each class needs some"),
        ({"prompts": (("a",), ("b", "c"))}, "as many as every other"),
        ({"prompts": ((), ())}, "one at least"),
        ({"prompts": (tuple("abcd"), tuple("abcd"))}, "none of them more than its first images"),
        ({"prompts": (("a\nb",), ("b",))}, "pattern"),
        ({"vary_by": "prompt", "strengths": ()}, "needs provider.prompts, two at least"),
        ({"vary_by": "prompt", "prompts": (("a", "b"), ("c", "d"))}, "none where the API is asked for none"),
        ({"graded": False, "strengths": (0.8, 0.78)}, "none where the API is asked for none"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes, reason):
    with pytest.raises(ValidationError, match=reason):
        small_plan(**changes)


@pytest.mark.parametrize(
    "changes", [{"subsample": 3, "unit": "patient"}, {"unit": "text"}], ids=["drawn by patient", "not drawn"]
)
def test_secrets_are_promised_of_texts_that_a_draw_does_not_tell_apart_by_them(changes):
    assert small_plan(**SECRETS, **changes).secrecy is not None


def test_words_of_the_domain_cannot_smuggle_a_second_label():
    assert small_plan(domain="{label} x").prompt("cut") == "A {label} x image with cut"


@pytest.mark.parametrize(
    ("first", "last", "over"),
    [(3.0, None, [3.0, 3.0, 3.0, 3.0]), (3.0, 0.0, [3.0, 1.5, 0.0, 0.0]), (0.0, 4.0, [0.0, 2.0, 4.0, 4.0])],
)
def test_the_threshold_goes_in_a_straight_line_to_its_end_and_stays_there(
    first: float, last: float | None, over: list[float]
):
    plan = small_plan(
        method="pe", iterations=3, strengths=(0.9, 0.8, 0.7), threshold=first, threshold_end=last
    )
    assert [plan.threshold_at(t) for t in (1, 2, 3, 4)] == over


def test_rounds_may_be_larger_than_the_dataset_where_it_is_selected_from_them():
    """Aug-PE: L - 1 variations of each of those that are kept."""
    own = {"method": "aug-pe", "delta": 1e-5}
    plan = small_plan(candidates=4, prototypes=4, variations=6, keep="selected", pool="all", batch=4, **own)
    calls = [call for call in plan.round(1) if call.label == plan.labels[0]]
    assert sum(call.count for call in calls) == 24
    assert [sum(call.count for call in calls if call.parent == parent) for parent in range(4)] == [6] * 4
    assert plan.wanted(1) == plan.wanted(plan.iterations + 1) == 4
    assert sum(call.count for call in plan.round(0)) == 4 * len(plan.labels)
    with pytest.raises(ValueError, match="need a dataset that is selected"):
        small_plan(candidates=4, variations=6, **own)


def test_what_the_gate_is_handed_is_frozen():
    plan = small_plan()
    call = next(iter(plan.calls.values()))
    with pytest.raises(ValidationError, match="frozen"):
        plan.domain = "another"
    with pytest.raises(ValidationError, match="frozen"):
        plan.images.steps = 7
    with pytest.raises(TypeError, match="does not support item assignment"):
        plan.calls[call.slot] = call
    candidate = Candidate.received(call, 0, None, b"an image")
    for value, name in (
        (call, "seed"),
        (candidate, "digest"),
        (PublicEcho(candidate), "candidate"),
        (Receipt(plan.run_id, 1, (), (), plan.relation), "choices"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)


DATASET = {"cut": tuple("abcdefgh"), "good": tuple("ijklmnop")}


def count_kept(values: tuple[float, ...], class_counts: bool = True, iteration: int = 1) -> list[int]:
    plan = small_plan(method="pe", delta=1e-5, class_counts=class_counts, labels=("cut", "good"))
    receipt = Receipt(plan.run_id, iteration, (), (Event("gaussian", "1"),), plan.relation, values)
    found = cut_to_proportion(plan, [receipt], DATASET)
    assert all(found[label] == DATASET[label][: len(found[label])] for label in DATASET)
    return [len(found[label]) for label in DATASET]


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        ((30.0, 10.0), [8, 3]),
        ((10.0, 30.0), [3, 8]),
        ((5.0, 5.0), [8, 8]),
        ((30.0, -4.0), [8, 1]),
        ((-1.0, -4.0), [8, 8]),
        ((0.0, 0.0), [8, 8]),
    ],
)
def test_the_largest_class_stays_whole_and_none_goes_empty(values: tuple[float, ...], sizes: list[int]):
    assert count_kept(values) == sizes


TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}}


def of_texts(**changes: object) -> PublicPlan:
    return PublicPlan.model_validate({**json.loads(small_plan().model_dump_json()), **TEXTS, **changes})


def test_a_plan_for_texts_has_their_settings_and_none_of_images():
    plan = of_texts()
    assert plan.texts == Texts(kind="text", tokens=40, temperature=1.0)
    assert json.loads(plan.model_dump_json())["modality"] == {**TEXTS["modality"], "fields": []}
    with pytest.raises(TypeError, match="no settings of images"):
        _ = plan.images
    with pytest.raises(TypeError, match="no settings of texts"):
        _ = small_plan().texts


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 16},
        {"steps": 4},
        {"appearance": "matched"},
        {"modality": {"kind": "sound"}},
        {"modality": {"kind": "text", "tokens": 0, "temperature": 1.0}},
        {"modality": {"kind": "text", "tokens": 5, "temperature": 1.0, "width": 16}},
    ],
)
def test_settings_of_both_do_not_mix(changes):
    with pytest.raises(ValidationError):
        of_texts(**changes)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"method": "random"}, "start: a run that starts from a release is of method from-release"),
        ({"start": None}, "start: a run that starts from a release is of method from-release"),
        ({"iterations": 1, "strengths": (0.8,)}, "has no rounds, releases and prompts of its own"),
        ({"keep": "selected", "pool": "all"}, "has no rounds, releases and prompts of its own"),
        ({"appearance": "matched"}, "has no rounds, releases and prompts of its own"),
        ({"initial": 6}, "has no rounds, releases and prompts of its own"),
        ({"labels": ("cut", "good", "worn")}, "every class needs an image of the release"),
        ({"graded": False}, "variations need a strength, and none where the API is asked for none"),
    ],
)
def test_a_plan_that_starts_from_a_release_varies_all_of_it_and_nothing_else(changes, fault):
    assert following_plan().releases == ()
    with pytest.raises(ValueError, match=fault):
        following_plan(**changes)


@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize("candidates", [1, 2, 5, 20])
def test_the_variations_of_a_release_are_shared_among_its_images_and_begin_with_every_class(
    batch, candidates
):
    plan = following_plan(batch=batch, candidates=candidates)
    calls = list(plan.calls.values())
    assert {call.purpose for call in calls} == {"follow"}
    assert [call.label for call in calls[:2]] == ["cut", "good"]
    assert {call.label for call in plan.opening} == {"cut", "good"}
    for label, sources in (("cut", 2), ("good", 1)):
        of_class = [call for call in calls if call.label == label]
        assert [index for call in of_class for index in range(call.first, call.first + call.count)] == [
            *range(candidates)
        ]
        shares = Counter(call.source for call in of_class for _ in range(call.count))
        assert max(shares.values()) - min(shares.values()) <= 1
        assert len(shares) == min(sources, candidates)
