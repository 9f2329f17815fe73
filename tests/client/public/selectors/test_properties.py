"""Properties that hold for any private data and any candidates, whatever the selector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.privacy import Event, Relation
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput, Selector
from pcevolve.public.selectors.contrastive import Contrastive
from pcevolve.public.selectors.joint import draw_ballots, sum_votes_for_tuples
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.sums import class_sums
from pcevolve.public.selectors.votes import ExponentialVotes, Votes
from support.contract import CONTRACTED, event_of
from support.examples import examples
from support.neighbours import Observer


class Case:
    """Random private data and candidates; public sizes vary too. Distances are all different."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.classes = int(self.random.integers(1, 6))
        self.width = int(self.random.integers(1, 6))
        self.cells = int(self.random.integers(1, 5)) if seed % 2 else None
        count = int(self.random.integers(self.classes, 20))
        targets = np.concatenate(
            [np.arange(self.classes), self.random.integers(self.classes, size=count - self.classes)]
        )
        places = self.random.normal(size=(count, self.width)) + targets[:, None]
        self.records = PrivateEmbeddings(places, targets, self.random.integers(count, size=count))
        self.pools = [self._pool(target) for target in range(self.classes)]

    def _pool(self, target: int) -> np.ndarray:
        return self.random.normal(size=(int(self.random.integers(1, 9)), self.width)) + target

    def scene(self, pools: list[np.ndarray] | None = None, wanted: int = 3) -> SelectionInput:
        pools = self.pools if pools is None else pools
        return SelectionInput(
            labels=tuple(f"class {target}" for target in range(self.classes)),
            pools=tuple(pools),
            wanted=wanted,
            shots=4,
            iteration=2,
            iterations=3,
            seed=7,
            relation="replace-one",
            cells=self.cells,
        )

    def part(self, rows: np.ndarray) -> PrivateEmbeddings:
        of = self.records
        return PrivateEmbeddings(of.embeddings[rows], of.targets[rows], of.units[rows])


CASES = st.integers(0, 2**32 - 1).map(Case)


def all_votes(records: PrivateEmbeddings, scene: SelectionInput) -> np.ndarray:
    """JVEM's votes for all tuples of all blocks, in one vector."""
    return np.concatenate([sum_votes_for_tuples(records, scene, *ballot) for ballot in draw_ballots(scene)])


ADDITIVE = {"pe-em": ExponentialVotes().histogram, "jvem": all_votes, "pe": Votes().histogram}


def frame(scene: SelectionInput) -> Frame:
    return Frame.of(np.concatenate(scene.pools))


def means_sums(records: PrivateEmbeddings, scene: SelectionInput) -> np.ndarray:
    """Sums of clipped points by class, float64 ``(classes, k)``."""
    made = frame(scene)
    return class_sums(made.points(records.embeddings), records, len(scene.labels), made.radius)


@pytest.mark.parametrize("name", ADDITIVE)
@given(case=CASES)
def test_what_a_unit_adds_depends_on_that_unit_alone_bit_for_bit(name: str, case: Case):
    scene, score = case.scene(), ADDITIVE[name]
    units = [case.part(case.records.units == unit) for unit in np.unique(case.records.units)]
    assert np.array_equal(sum(score(unit, scene) for unit in units), score(case.records, scene))


@given(case=CASES)
def test_what_a_unit_adds_to_the_means_depends_on_that_unit_alone(case: Case):
    scene = case.scene()
    units = [case.part(case.records.units == unit) for unit in np.unique(case.records.units)]
    alone = sum(means_sums(unit, scene) for unit in units)
    assert alone == pytest.approx(means_sums(case.records, scene), abs=1e-12)


@given(case=CASES)
def test_no_unit_adds_more_than_its_bound(case: Case):
    scene = case.scene()
    for unit in np.unique(case.records.units):
        alone = case.part(case.records.units == unit)
        by_block = [sum_votes_for_tuples(alone, scene, *ballot) for ballot in draw_ballots(scene)]
        assert all((votes >= 0).all() for votes in by_block)
        assert sum(votes.max() for votes in by_block) <= 1
        assert ExponentialVotes().histogram(alone, scene).sum() <= 1
        assert np.linalg.norm(Votes().histogram(alone, scene)) <= 1
        assert np.linalg.norm(means_sums(alone, scene)) <= frame(scene).radius


@given(case=CASES, relation=st.sampled_from(["add-remove", "replace-one"]))
def test_no_neighbours_of_any_data_are_farther_apart_than_the_means_have_paid_for(
    case: Case, relation: Relation
):
    """Whatever was released as the centre: a unit goes, or comes back elsewhere, in another class, with more images."""
    scene = replace(case.scene(), relation=relation)
    unit = case.records.units[0]
    rest = case.part(case.records.units != unit)
    count = int(case.random.integers(1, 4)) if relation == "replace-one" else 0
    neighbour = PrivateEmbeddings(
        np.concatenate([rest.embeddings, 5 * case.random.normal(size=(count, case.width))]),
        np.concatenate([rest.targets, case.random.integers(case.classes, size=count)]),
        np.concatenate([rest.units, np.full(count, unit)]),
    )
    events = Event("gaussian", "5/2"), Event("gaussian", "5/4")
    middle = float(case.random.normal() * 3)
    one, two = Observer(middle=middle), Observer(middle=middle)
    Means().measure(case.records, scene, events, one)
    Means().measure(neighbour, scene, events, two)
    for event, (_, first, sigma), (_, second, same) in zip(events, one.asked, two.asked, strict=True):
        assert sigma == same
        assert np.linalg.norm(first - second) * float(event.value) <= sigma


@pytest.mark.parametrize("name", [*ADDITIVE, "dp-means"])
@given(case=CASES)
def test_the_order_of_the_records_changes_nothing_bit_for_bit(name: str, case: Case):
    scene = case.scene()
    shuffled = case.part(case.random.permutation(len(case.records)))
    score = ADDITIVE.get(name, means_sums)
    assert np.array_equal(score(shuffled, scene), score(case.records, scene))


@pytest.mark.parametrize("name", CONTRACTED)
@given(case=CASES)
def test_embeddings_that_float32_holds_are_measured_as_in_float64(name: str, case: Case):
    narrow = replace(case.records, embeddings=case.records.embeddings.astype(np.float32))
    wide = replace(narrow, embeddings=narrow.embeddings.astype(np.float64))
    scene, events = case.scene(), (event_of(name, case.classes),)
    one, other = (
        CONTRACTED[name].make_selector().measure(each, scene, events, SeededNoise(3))
        for each in (narrow, wide)
    )
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[each], other[each]) for each in one)


@pytest.mark.parametrize("name", ["pcevolve", "pe", "pe-em"])
@given(case=CASES)
def test_candidates_are_scored_the_same_in_any_order(name: str, case: Case):
    orders = [case.random.permutation(len(pool)) for pool in case.pools]
    shuffled = [pool[order] for pool, order in zip(case.pools, orders, strict=True)]
    before = scores_of(name, case.records, case.scene())
    after = scores_of(name, case.records, case.scene(shuffled))
    for order, one, other in zip(orders, before, after, strict=True):
        assert other == pytest.approx(one[order], abs=1e-12)


@pytest.mark.parametrize("name", ["pcevolve", "pe", "pe-em", "jvem", "dp-means"])
@given(case=CASES)
def test_candidates_that_cannot_be_used_change_nothing_for_the_others(name: str, case: Case):
    holed = [with_holes(pool, case.random) for pool in case.pools]
    before = scores_of(name, case.records, case.scene())
    after = scores_of(name, case.records, case.scene(holed))
    if name in ("pe", "pe-em"):  # their histograms have a place for everybody
        after = [votes[np.isfinite(pool).all(axis=1)] for votes, pool in zip(after, holed, strict=True)]
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", CONTRACTED)
@given(case=CASES, wanted=st.integers(1, 12))
@settings(max_examples=examples(50))
def test_as_many_as_wanted_are_picked_and_none_that_cannot_be_used(name: str, case: Case, wanted: int):
    scene = case.scene([with_holes(pool, case.random) for pool in case.pools], wanted)
    for picked, pool in zip(choose(name, case.records, scene), scene.pools, strict=True):
        assert picked.dtype == np.int64
        assert len(picked) == wanted
        assert np.isfinite(pool[picked]).all()


@pytest.mark.parametrize("name", ["pcevolve", "jvem", "dp-means", "toy"])
@given(case=CASES)
@settings(max_examples=examples(30))
def test_nobody_is_picked_twice_while_there_are_others(name: str, case: Case):
    for wanted in (2, 5):
        scene = case.scene(wanted=wanted)
        for picked, pool in zip(choose(name, case.records, scene), scene.pools, strict=True):
            assert len(set(picked.tolist())) == min(wanted, len(pool))


@pytest.mark.parametrize("name", CONTRACTED)
def test_an_event_of_another_mechanism_pays_for_nothing(name: str):
    case, noise = Case(3), SeededNoise(1)
    with pytest.raises(ValueError, match="does not pay for this selector's"):
        CONTRACTED[name].make_selector().measure(case.records, case.scene(), (Event("uniform"),), noise)


@pytest.mark.parametrize("name", sorted(set(CONTRACTED) - {"pe-em"}))
def test_an_event_that_counts_another_number_of_accesses_pays_for_nothing(name: str):
    case = Case(5)
    event = event_of(name, case.classes)
    wrong = replace(event, count=event.count + 1 if event.count == 1 else event.count - 1)
    with pytest.raises(ValueError, match="does not pay for this selector's"):
        CONTRACTED[name].make_selector().measure(case.records, case.scene(), (wrong,), SeededNoise(1))


def scores_of(name: str, records: PrivateEmbeddings, scene: SelectionInput) -> list[np.ndarray]:
    """Noise-free scores, one array per class or block."""
    if name == "pcevolve":
        return [scores for _, scores in Contrastive().scores(records, scene)]
    if name == "jvem":
        return [sum_votes_for_tuples(records, scene, *ballot) for ballot in draw_ballots(scene)]
    if name == "dp-means":
        return [means_sums(records, scene)]
    return np.split(ADDITIVE[name](records, scene), np.cumsum([len(pool) for pool in scene.pools])[:-1])


def with_holes(pool: np.ndarray, random: np.random.Generator) -> np.ndarray:
    places = np.sort(random.integers(len(pool) + 1, size=2))
    return np.insert(pool, places, [[np.nan], [np.inf]], axis=0)


def measure(selector: Selector, name: str, records: PrivateEmbeddings, scene: SelectionInput):
    return selector.measure(records, scene, (event_of(name, len(scene.labels)),), SeededNoise(1))


def choose(name: str, records: PrivateEmbeddings, scene: SelectionInput) -> tuple[np.ndarray, ...]:
    selector = CONTRACTED[name].make_selector()
    return selector.pick(measure(selector, name, records, scene), scene)
