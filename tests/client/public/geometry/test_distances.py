"""The nearest candidates are those of brute force in float64, and groups are the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pcevolve.public.geometry import distances
from pcevolve.public.geometry.distances import (
    _Search,
    find_centres,
    nearest_candidates,
    nearest_of_some,
)
from support.examples import examples

WIDE = st.floats(allow_nan=True, allow_infinity=True)
COARSE = st.integers(-2, 2).map(float)  # many exact ties


@pytest.fixture(autouse=True, scope="module")
def _screened() -> Iterator[None]:
    """Few points are compared one by one, which would leave the search untried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "FEW_PRODUCTS", 0)
        yield


def brute_force(records: np.ndarray, candidates: np.ndarray, count: int = 1) -> np.ndarray:
    usable = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    usable = usable if len(usable) >= count else np.arange(len(candidates))
    eligible = candidates[usable].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = [np.square(record - eligible).sum(axis=1) for record in records.astype(np.float64)]
    return np.array([usable[each.argsort(kind="stable")[:count]] for each in gaps])


def draw_clusters(
    seed: int, n: int, m: int, d: int, clusters: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, d))
    return tuple(
        (centres[rng.integers(clusters, size=k)] + spread * rng.standard_normal((k, d))).astype(np.float32)
        for k in (n, m)
    )


def near_ties(seed: int, n: int = 200, m: int = 500, d: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Records halfway between pairs of candidates, up to the last bits of float32; candidates far from the origin."""
    rng = np.random.default_rng(seed)
    candidates = (100 + rng.standard_normal((m, d))).astype(np.float32)
    first, second = rng.integers(m, size=(2, n))
    records = ((candidates[first].astype(np.float64) + candidates[second]) / 2).astype(np.float32)
    candidates[m // 2] = np.nextafter(candidates[0], np.float32(np.inf))  # one bit from another candidate
    records[: n // 4] = candidates[0]
    return np.nextafter(records, rng.choice(np.float32([-np.inf, np.inf]), size=records.shape)), candidates


def with_a_giant(records: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A candidate whose squared norm overflows float32."""
    return records, np.concatenate([candidates, np.full((1, candidates.shape[1]), 1e30, np.float32)])


def with_duplicates(records: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every candidate twice, the later copies in reverse; half the records are candidates."""
    records[: len(records) // 2] = candidates[: len(records) // 2]
    return records, np.concatenate([candidates, candidates[::-1]])


def stretch(records: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Norms that one coordinate decides."""
    scale = np.where(np.arange(candidates.shape[1]) == 7, 450, 1).astype(np.float32)
    return records * scale, candidates * scale


CASES = {
    "random": draw_clusters(0, 300, 700, 128, 700, 1.0),
    "clustered": draw_clusters(1, 400, 1200, 128, 5, 0.1),
    "shifted": tuple(1000 + each for each in draw_clusters(2, 300, 700, 128, 50, 0.3)),
    "near ties": near_ties(3),
    "float16": tuple(each.astype(np.float16) for each in draw_clusters(4, 300, 700, 128, 20, 0.5)),
    "float64": tuple(
        1e6 + each.astype(np.float64) * 1e-3 for each in draw_clusters(5, 300, 700, 128, 20, 0.5)
    ),
    "one giant": with_a_giant(*draw_clusters(6, 300, 700, 128, 20, 0.5)),
    "tight": draw_clusters(8, 300, 900, 128, 3, 1e-3),
    "tighter than float32": draw_clusters(9, 200, 600, 128, 3, 1e-6),
    "far": tuple(np.float32(1e4) + each for each in draw_clusters(10, 300, 700, 128, 20, 0.5)),
    "huge": tuple(each * np.float32(1e18) for each in draw_clusters(11, 200, 700, 128, 20, 0.5)),
    "duplicates": with_duplicates(*draw_clusters(12, 300, 700, 128, 4, 0.05)),
    "one direction": stretch(*draw_clusters(13, 300, 900, 128, 900, 1.0)),
    "tiny": tuple(each * np.float32(1e-30) for each in draw_clusters(7, 40, 60, 32, 60, 1.0)),
}


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_that_of_float64_brute_force(case, count):
    records, candidates = CASES[case]
    found = nearest_candidates(records, candidates, count)
    assert found.tolist() == brute_force(records, candidates, count).tolist()


@pytest.mark.parametrize("elements", [WIDE, COARSE], ids=["any floats", "many ties"])
@given(data=st.data())
def test_the_answer_is_that_of_brute_force_for_any_floats(elements, data):
    records = data.draw(hnp.arrays(np.float64, (5, 3), elements=elements))
    candidates = data.draw(hnp.arrays(np.float64, (9, 3), elements=elements))
    candidates[data.draw(st.integers(0, 8))] = 0.5
    count = data.draw(st.integers(1, 4))
    assert np.array_equal(
        nearest_candidates(records, candidates, count), brute_force(records, candidates, count)
    )


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_answer_is_that_of_brute_force_for_clusters_of_any_size_tightness_and_place(data, seed):
    spread, scale, place = (10.0 ** data.draw(st.integers(*ends)) for ends in ((-8, 1), (-15, 15), (-3, 5)))
    pair = draw_clusters(seed, 60, data.draw(st.integers(130, 400)), 24, data.draw(st.integers(1, 9)), spread)
    records, candidates = (((each + place) * scale).astype(np.float32) for each in pair)
    count = data.draw(st.integers(1, 5))
    assert np.array_equal(
        nearest_candidates(records, candidates, count), brute_force(records, candidates, count)
    )


@pytest.mark.parametrize("case", CASES)
def test_a_vote_depends_on_no_other_record_nor_on_blocks_order_or_threads(case, monkeypatch):
    records, candidates = CASES[case]
    whole = nearest_candidates(records, candidates)
    order = np.random.default_rng(0).permutation(len(records))
    assert nearest_candidates(records[:1], candidates).tolist() == whole[:1].tolist()
    for rows in (1, 7, 100):
        monkeypatch.setattr(distances, "BLOCK_ROWS", rows)
        assert np.array_equal(nearest_of_some(records, order, candidates), whole[order])
    monkeypatch.setattr(distances, "BLOCK_SCORES", 3 * len(candidates))
    for threads in (1, 3):
        monkeypatch.setattr(distances, "thread_count", lambda threads=threads: threads)
        assert nearest_candidates(records, candidates).tolist() == whole.tolist()
    assert nearest_candidates(records[:1], candidates).tolist() == whole[:1].tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("case", [case for case in CASES if case != "float64"])
def test_no_score_is_farther_from_the_truth_than_the_bound(case, kind):
    records, candidates = (each.astype(np.float64) for each in CASES[case])
    search, close = _Search(candidates, 1), slice(None, 20)
    with np.errstate(over="ignore", invalid="ignore"):
        scores, error = search.score(records[close], kind)
    wide = [each.astype(np.longdouble) for each in (records[close], candidates, search.centre)]
    truth = np.square(wide[1] - wide[2]).sum(axis=1) / 2 - (wide[0] - wide[2]) @ (wide[1] - wide[2]).T
    bounded = np.isfinite(error)
    assert np.all(np.abs(scores[bounded] - truth[bounded]) <= error[bounded, None])
    assert bounded.all() or (kind is np.float32 and case in ("one giant", "huge"))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_bound_half_as_large_would_not_hold_a_hundredfold(kind):
    """The bound is no more than a few hundred times what errors come to, or it would rule out too little."""
    records, candidates = (each.astype(np.float64) for each in CASES["random"])
    scores, error = _Search(candidates, 1).score(records[:20], kind)
    exact = [each.astype(np.longdouble) for each in (records[:20], candidates, candidates.mean(axis=0))]
    truth = np.square(exact[1] - exact[2]).sum(axis=1) / 2 - (exact[0] - exact[2]) @ (exact[1] - exact[2]).T
    assert np.abs(scores - truth).max() > error.max() / 2000


def test_what_single_precision_leaves_open_is_decided_by_the_exact_distances():
    """Three candidates that float32 scores alike, the last of which is the nearest by one part in 10^12."""
    random = np.random.default_rng(5)
    centre = random.standard_normal(64)
    steps = np.zeros((400, 64))
    steps[:, 0] = [1 + 3e-12, 1 + 2e-12, 1 + 1e-12, *(10 + np.arange(397))]
    candidates, points = centre + steps, np.repeat(centre[None], 300, axis=0)
    assert set(nearest_candidates(points, candidates)[:, 0]) == {2}
    assert nearest_candidates(points, candidates, 3).tolist() == [[2, 1, 0]] * 300


def test_few_points_are_compared_one_by_one_with_the_same_answer(monkeypatch):
    records, candidates = draw_clusters(14, 20, 30, 8, 4, 0.3)
    screened = nearest_candidates(records, candidates, 2)
    monkeypatch.setattr(distances, "FEW_PRODUCTS", 20 * 30 * 8)
    monkeypatch.setattr(distances, "_Search", None)
    assert nearest_candidates(records, candidates, 2).tolist() == screened.tolist()


@pytest.mark.parametrize("few", [0, 10**9])
def test_where_too_few_candidates_are_usable_the_first_of_the_others_follow(few, monkeypatch):
    monkeypatch.setattr(distances, "FEW_PRODUCTS", few)
    candidates = np.array([[np.nan, 0.0], [5.0, 5.0], [0.0, np.nan], [1.0, 1.0]])
    assert nearest_candidates(np.zeros((2, 2)), candidates, 3).tolist() == [[3, 1, 0]] * 2
    assert nearest_candidates(np.zeros((2, 2)), candidates, 1).tolist() == [[3]] * 2
    assert nearest_candidates(np.zeros((2, 2)), np.full((3, 2), np.nan), 1).tolist() == [[0]] * 2
    assert nearest_candidates(np.empty((0, 2)), candidates).shape == (0, 1)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_memory_map_gives_the_answers_of_the_array_in_it(tmp_path, kind):
    records, candidates = (each.astype(kind) for each in CASES["random"])
    np.save(tmp_path / "e.npy", records)
    mapped = np.load(tmp_path / "e.npy", mmap_mode="r")
    assert nearest_candidates(mapped, candidates).tolist() == nearest_candidates(records, candidates).tolist()


SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=examples(60))


@given(SEEDS, st.integers(1, 10), st.integers(2, 8))
@QUICK
def test_every_group_that_there_is_has_its_mean(seed: int, count: int, each: int):
    apart = np.repeat(100.0 * np.eye(count, 12), each, axis=0)
    points = apart + np.random.default_rng(seed).normal(size=apart.shape)
    means = points.reshape(count, each, 12).mean(axis=1)
    assert np.allclose(find_centres(points, count), means, atol=1e-3)


@given(SEEDS)
@QUICK
def test_the_order_in_which_a_machine_adds_up_coordinates_changes_nothing(seed: int):
    random = np.random.default_rng(seed)
    points = random.normal(size=(80, 50)) * np.exp(random.normal(size=50))
    order = random.permutation(50)
    assert np.array_equal(find_centres(points, 7)[:, order], find_centres(points[:, order], 7))


def test_centres_come_to_rest_nearer_to_the_points_than_where_they_began():
    points = np.random.default_rng(1).normal(size=(300, 2))

    def spread(found: np.ndarray) -> float:
        return float(np.square(points[:, None] - found).sum(axis=2).min(axis=1).sum())

    assert spread(find_centres(points, 10)) < 0.8 * spread(points[::30])


def test_centres_are_at_rest_where_they_are_found():
    points = np.random.default_rng(2).normal(size=(200, 3))
    found = find_centres(points, 5)
    groups = nearest_candidates(points, found)[:, 0]
    means = np.array([points[groups == group].mean(axis=0) for group in range(5)])
    assert np.abs(found - means).max() < 1e-5


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40), width=st.integers(1, 40))
def test_a_records_distances_are_the_same_to_the_last_bit_in_any_company(seed, count, width):
    random = np.random.default_rng(seed)
    points, pool = (random.normal(size=(each, width)) for each in (count, 7))
    alone = np.concatenate([distances.distances(points[[place]], pool) for place in range(count)])
    assert np.array_equal(distances.distances(points, pool), alone)
    far = 1e8 + np.array([[0.0], [3.0], [1.0]])  # small differences are not lost
    assert distances.distances(far[:1], far).tolist() == [[0.0, 3.0, 1.0]]


def test_what_float32_holds_is_told_and_nan_is_held():
    assert distances.are_single(np.array([[0.5, np.nan], [1.0, 2.0**-20]]))
    assert distances.are_single(np.array([[0.1]], dtype=np.float32))
    assert not distances.are_single(np.array([[0.1]]))
    assert not distances.are_single(np.array([[1e300, np.nan]]))
