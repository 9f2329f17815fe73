"""An auditor's derivations: what was measured and picked follows, also where another machine rounds otherwise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import Encoder
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Receipt
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput, Selector
from pcevolve.public.selectors.choosing import Chooser, name_choice
from pcevolve.public.selectors.consistency import is_surrounded, surround
from pcevolve.public.selectors.means import Means
from support.contract import CONTRACTED, event_of
from support.examples import examples

OTHER_MACHINE = 1e-6
"""Relative error of an embedding on another processor."""
CLEAR = 2e-3
"""Relative difference of distances that no rounding explains."""
BY_DISTANCE = ("pcevolve", "jvem", "toy")
DRAWN = ("pcevolve", "pe-em", "jvem", "toy")
QUICK = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.filter_too_much])


class Case:
    """A question about random candidates, with what was measured and picked."""

    def __init__(self, name: str, seed: int, unusable: float = 0.1) -> None:
        self.name, self.selector, self.unusable = name, CONTRACTED[name].make_selector(), unusable
        self.random = np.random.default_rng(seed)
        classes, width = int(self.random.integers(1, 4)), int(self.random.integers(2, 40))
        pools = [self._pool(target, width) for target in range(classes)]
        self.scene = SelectionInput(
            labels=tuple(f"class {target}" for target in range(classes)),
            pools=tuple(pools),
            wanted=int(self.random.integers(1, 8)),
            shots=3,
            iteration=1,
            iterations=3,
            seed=seed,
            relation="replace-one",
            cells=int(self.random.integers(1, 5)) if seed % 2 else None,
        )
        targets = np.repeat(np.arange(classes), 3)
        places = self.random.normal(size=(len(targets), width)) + targets[:, None]
        records = PrivateEmbeddings(places, targets, np.arange(len(targets)))
        self.event = event_of(name, classes)
        self.measured = self.selector.measure(records, self.scene, (self.event,), SeededNoise(seed))
        self.picked = self.selector.pick(self.measured, self.scene)

    def _pool(self, target: int, width: int) -> np.ndarray:
        """Candidates of a class, a share of which may be unusable."""
        pool = self.random.normal(size=(int(self.random.integers(2, 30)), width)) + target
        pool[self.random.random(len(pool)) < self.unusable] = np.nan
        return pool

    def elsewhere(self) -> SelectionInput:
        """The question as another machine would embed it."""
        return replace(self.scene, pools=tuple(self._rounded(pool) for pool in self.scene.pools))

    def _rounded(self, pool: np.ndarray) -> np.ndarray:
        scale = OTHER_MACHINE * np.nan_to_num(np.abs(pool)).max(initial=0.0)
        return pool + scale * self.random.uniform(-1, 1, size=pool.shape)

    def accepts(self, scene: SelectionInput) -> bool:
        could = self.selector.could_measure(self.measured, scene, (self.event,))
        return could and self.follows(self.picked, scene)

    def follows(self, picked: tuple[np.ndarray, ...], scene: SelectionInput | None = None) -> bool:
        return self.selector.is_picked(self.measured, scene or self.scene, picked)

    def with_pick(self, place: int, candidate: int) -> tuple[np.ndarray, ...]:
        """The picks, of the first class one exchanged; the same ones again stay the same."""
        first = self.picked[0].copy()
        first[first == first[place]] = candidate
        return (first, *self.picked[1:])


SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("unusable", [0.1, 0.9])
@pytest.mark.parametrize("name", CONTRACTED)
@given(seed=SEEDS)
@QUICK
def test_whatever_was_measured_and_picked_follows_on_this_and_on_another_machine(
    name: str, unusable: float, seed: int
):
    case = Case(name, seed, unusable)
    assert case.accepts(case.scene)
    assert case.accepts(case.elsewhere())


@pytest.mark.parametrize("name", DRAWN)
@given(seed=SEEDS)
@QUICK
def test_another_winner_than_the_drawn_one_does_not_follow(name: str, seed: int):
    case = Case(name, seed)
    others = np.setdiff1d(case.scene.eligible(0), case.picked[0])
    assume(len(others))
    assert not case.follows(case.with_pick(0, int(others[0])))


@pytest.mark.parametrize("name", BY_DISTANCE)
@given(seed=SEEDS)
@QUICK
def test_a_neighbour_that_is_clearly_farther_does_not_follow(name: str, seed: int):
    case = Case(name, seed)
    pool, picked = case.scene.pools[0], case.picked[0]
    near = np.linalg.norm(pool - pool[picked[0]], axis=1)
    others = np.setdiff1d(case.scene.eligible(0), picked)
    assume(len(others) and len(picked) > 1)
    farthest = int(others[near[others].argmax()])
    assume(near[farthest] - near[picked].max() > CLEAR * np.nanmax(near))
    assert not case.follows(case.with_pick(len(picked) - 1, farthest))


@pytest.mark.parametrize("name", BY_DISTANCE)
@given(seed=SEEDS)
@QUICK
def test_neighbours_in_another_order_do_not_follow(name: str, seed: int):
    case = Case(name, seed)
    pool, picked = case.scene.pools[0], case.picked[0]
    near = np.linalg.norm(pool - pool[picked[0]], axis=1)
    distinct = len(set(picked.tolist()))
    assume(distinct == len(picked) >= 3 and near[picked[-1]] - near[picked[1]] > CLEAR * np.nanmax(near))
    turned = np.concatenate([picked[:1], picked[:0:-1]])
    assert not case.follows((turned, *case.picked[1:]))


@given(seed=SEEDS)
@QUICK
def test_a_candidate_that_is_clearly_less_like_its_class_does_not_follow(seed: int):
    case = Case("dp-means", seed)
    eligible, taken, squared = case.scene.eligible(0), case.picked[0], _square_distances(case)
    scored = squared[:, 0] - (0.5 * squared[:, 1:].min(axis=1) if squared.shape[1] > 1 else 0)
    strays = squared[:, 0] > squared.min(axis=1)
    assume(len(eligible) > len(taken) + 1)
    worst = int(eligible[scored.argmax()])
    assume(worst not in taken)
    gap = scored.max() - scored[np.searchsorted(eligible, taken)].max()
    assume(gap > CLEAR * scored.max() and not strays[np.searchsorted(eligible, taken)].any())
    assert not case.follows(case.with_pick(0, worst))


def _square_distances(case: Case) -> np.ndarray:
    """Squared distances of the first class's candidates to all means, float64 ``(candidates, classes)``."""
    pool = case.scene.pools[0][case.scene.eligible(0)]
    points = (pool - case.measured["centre"]) @ case.measured["axes"]
    return np.square(points[:, None] - case.measured["means"][None]).sum(axis=2)


@pytest.mark.parametrize("name", CONTRACTED)
@given(seed=SEEDS)
@QUICK
def test_a_candidate_that_cannot_be_used_is_never_followed(name: str, seed: int):
    case = Case(name, seed)
    pool = case.scene.pools[0]
    broken = np.flatnonzero(~np.isfinite(pool).all(axis=1))
    assume(len(broken) and len(broken) < len(pool))
    assert not case.follows(case.with_pick(0, int(broken[0])))


@pytest.mark.parametrize("name", CONTRACTED)
@given(seed=SEEDS)
@QUICK
def test_an_array_more_or_of_another_type_is_no_measurement(name: str, seed: int):
    case = Case(name, seed)
    of, array = next(iter(case.measured.items()))
    for change in ({"note": np.zeros(3)}, {of: array.astype(np.float32)}, {of: array[..., None]}):
        assert not case.selector.could_measure({**case.measured, **change}, case.scene, (case.event,))


@pytest.mark.parametrize("name", DRAWN)
@given(seed=SEEDS)
@QUICK
def test_a_draw_of_what_could_not_be_drawn_is_no_measurement(name: str, seed: int):
    case = Case(name, seed)
    broken = np.flatnonzero(~np.isfinite(case.scene.pools[0]).all(axis=1))
    assume(len(broken) and len(broken) < len(case.scene.pools[0]))
    chosen = case.measured["chosen"].copy()
    chosen[(0,) * chosen.ndim] = broken[0]
    assert not case.selector.could_measure({"chosen": chosen}, case.scene, (case.event,))


@pytest.mark.parametrize(
    ("name", "array"), [("pe", "votes"), ("aug-pe", "votes"), ("secpe", "cells"), ("dp-means", "means")]
)
def test_digits_far_below_the_noise_are_no_measurement(name: str, array: str):
    case = Case(name, 3, unusable=0.0)
    told = {**case.measured, array: case.measured[array] + 2**-30}
    assert not case.selector.could_measure(told, case.scene, (case.event,))


def on_a_line(places: list[float], wanted: int) -> SelectionInput:
    """One class of candidates on a line; the first of them is where the winner is."""
    pool = np.array(places)[:, None]
    return SelectionInput(("class",), (pool,), wanted, 3, 1, 3, 0, "replace-one")


STEP = 2.0**-10
"""Of distances, where the largest norm is at least 1 and less than 2; machines differ by 4 millionths of it."""


@pytest.mark.parametrize(
    ("off", "forgiven"),
    [
        (0.0, False),  # both at the same step: the one that comes first is first
        (0.4 * STEP, False),
        (0.5 * STEP - 1e-7, True),  # on the edge of a step, where two machines may count otherwise
        (0.5 * STEP + 1e-7, True),
        (0.6 * STEP, False),
    ],
)
def test_neighbours_may_change_places_only_where_a_distance_lies_on_the_edge_of_a_step(off, forgiven):
    scene, ruler = on_a_line([0.0, 1024 * STEP + off, 1024 * STEP], wanted=3), Ruler(STEP, 4e-6)
    due = surround(scene, 0, 0, ruler)
    assert due.tolist() == ([0, 1, 2] if off < 0.5 * STEP else [0, 2, 1])
    turned = np.array([0, *due[:0:-1]])
    assert is_surrounded(scene, 0, 0, due, ruler)
    assert is_surrounded(scene, 0, 0, turned, ruler) is forgiven
    assert is_surrounded(replace(scene, wanted=2), 0, 0, turned[:2], ruler) is forgiven


def dressed(pool: np.ndarray, wanted: int, means: int = 1) -> tuple[SelectionInput, Measurement]:
    """A question about candidates of one class, and means in a frame that changes nothing."""
    scene = SelectionInput(tuple("abc"[:means]), (pool,) * means, wanted, 3, 1, 3, 0, "replace-one")
    aims = np.arange(means)[:, None] + np.zeros((means, pool.shape[1]))
    return scene, {"centre": np.zeros(pool.shape[1]), "axes": np.eye(pool.shape[1]), "means": aims}


def choose_at_random(random: np.random.Generator, pool: np.ndarray, wanted: int) -> np.ndarray:
    return random.permutation(len(pool))[:wanted]


@pytest.mark.parametrize("means", [1, 2])
def test_copies_have_one_order_however_a_forger_chooses_among_them(means: int):
    """Eighty pictures that look the same to an encoder, to the last bit."""
    random = np.random.default_rng(5)
    scene, measured = dressed(np.repeat(random.normal(size=(1, 8)), 80, axis=0), 10, means)
    due = Means().pick(measured, scene)
    assert [each.tolist() for each in due] == [list(range(10))] * means
    assert Means().is_picked(measured, scene, due)
    for _ in range(200):
        forged = choose_at_random(random, scene.pools[0], 10)
        assert not Means().is_picked(measured, scene, [forged, *due[1:]])
        surrounded = np.array([0, *choose_at_random(random, scene.pools[0], 9)])
        assert not is_surrounded(scene, 0, 0, surrounded, Ruler(STEP, 4e-6))


@pytest.mark.parametrize("share", [1e-4, 1e-5, 1e-6, 1e-7, 1e-9])
def test_of_near_copies_a_forger_can_hardly_ever_choose_another(share: float):
    """Only where their common distance lies by chance on the edge of a step."""
    passed, tried = 0, 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        copies = random.normal(size=(1, 8)) * (1 + share * random.normal(size=(80, 8)))
        others = random.normal(size=(320, 8)) + 3
        scene, measured = dressed(np.concatenate([copies, others]), 10, means=2)
        due = Means().pick(measured, scene)
        assert Means().is_picked(measured, scene, due)
        forged = choose_at_random(random, copies, 10)
        passed += Means().is_picked(measured, scene, [forged, due[1]])
        tried += 1
    assert passed <= 0.05 * tried


def test_copies_on_the_edge_of_a_step_have_one_order_too():
    pool = np.full((80, 1), 1 + STEP / 2)
    scene = on_a_line([0.0, *pool[:, 0]], wanted=5)
    assert is_surrounded(scene, 0, 0, np.arange(5), Ruler(STEP, 4e-6))
    assert not is_surrounded(scene, 0, 0, np.array([0, 1, 2, 3, 5]), Ruler(STEP, 4e-6))
    measured = {"centre": np.zeros(1), "axes": np.ones((1, 1)), "means": np.zeros((1, 1))}
    picked = Means().pick(measured, scene)
    assert Means().is_picked(measured, scene, picked)
    assert not Means().is_picked(measured, scene, [picked[0] + (picked[0] > 0)])


def test_a_pick_that_is_not_the_farthest_from_those_before_it_does_not_follow():
    """Four of 31 are the best; the second of them lies beside the first."""
    scene = on_a_line([0.0, 0.01, 2.0, 3.0, *range(5, 32)], wanted=2)
    measured = {"centre": np.zeros(1), "axes": np.ones((1, 1)), "means": np.zeros((1, 1))}
    (picked,) = Means().pick(measured, scene)
    assert picked.tolist() == [0, 3]
    assert Means().is_picked(measured, scene, [picked])
    assert not Means().is_picked(measured, scene, [np.array([0, 1])])


@pytest.mark.parametrize("jitter", [1e-3, 3e-4, 1e-5, 1e-7])
def test_picks_among_near_copies_are_believed_on_a_machine_that_rounds_otherwise(jitter: float):
    random = np.random.default_rng(3)
    for _ in range(examples(30)):
        motifs = random.normal(size=(4, 16))[random.integers(4, size=60)]
        scene, measured = dressed(motifs + jitter * random.normal(size=(60, 16)), 10, means=2)
        moved = scene.pools[0] + 5e-7 * random.normal(size=(60, 16))
        other = replace(scene, pools=(moved, moved))
        assert Means().is_picked(measured, other, Means().pick(measured, scene))
        rulers = [each.ruler(measured) for each in (other, scene)]
        assert is_surrounded(other, 0, 7, surround(scene, 0, 7, rulers[1]), rulers[0])


class Taken:
    """Picks the only candidate of each class."""

    def pick(self, _measured: Measurement, _scene: SelectionInput) -> list[np.ndarray]:
        return [np.array([0])]

    def is_picked(self, *_: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("nearer", "as_they_came", "matched"),
    [(-0.2, True, False), (-1e-4, True, True), (1e-4, True, True), (0.2, False, True)],
)
def test_a_rendition_may_be_the_farther_one_on_the_edge_of_a_step(
    nearer: float, as_they_came: bool, matched: bool
):
    """As they came (0) the pick lies within a step, and with the released look (1) so much beyond its near edge."""
    candidate = Candidate("0", "class", 0, None, "a" * 64)
    plan = cast(PublicPlan, SimpleNamespace(labels=("class",)))
    chooser = Chooser(plan, cast(Encoder, None), lambda _: b"", cast(Selector, Taken()))
    measured = {"centre": np.zeros(1), "axes": np.ones((1, 1)), "means": np.zeros((1, 1))}
    offset = on_a_line([1.5], wanted=1).ruler(measured).offset
    places = [(1200 - offset + each) * STEP for each in (0.0, -0.5 - nearer)]
    scenes = [on_a_line([each], wanted=1) for each in places]
    choices = (name_choice("class", {"class": (candidate,)}, [0]),)
    for said, follows in ((0.0, as_they_came), (1.0, matched)):
        receipt = Receipt("run", 1, choices, (), "replace-one", values=(said,))
        assert chooser.follows(measured, scenes, Pool({"class": (candidate,)}), receipt) is follows


def test_a_neighbour_that_cannot_be_used_does_not_follow_at_the_first_place_either():
    pools = (np.array([[0.0], [np.nan], [1.0], [2.0]]), np.zeros((4, 1)))
    scene = SelectionInput(("a", "b"), pools, 3, 10, 1, 0, 7, "replace-one")
    ruler = Ruler(2.0**-10, 1e-6)
    assert is_surrounded(scene, 0, 0, np.array([0, 2, 3]), ruler)
    assert not is_surrounded(scene, 0, 0, np.array([0, 1, 3]), ruler)
