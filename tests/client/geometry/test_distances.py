"""The nearest candidates are those of brute force in float64, and groups are the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from pcevolve.geometry import distances
from pcevolve.geometry.distances import (
    ENTRY_BYTES,
    _Screen,
    find_centres,
    nearest,
    nearest_candidates,
    nearest_of_some,
)
from support.examples import examples

WIDE = st.floats(allow_nan=True, allow_infinity=True)
COARSE = st.integers(-2, 2).map(float)  # many exact ties


def brute_force(records: np.ndarray, candidates: np.ndarray, count: int = 1) -> np.ndarray:
    usable = np.flatnonzero(np.isfinite(candidates).all(axis=1))
    entrants = candidates[usable].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = [np.square(record - entrants).sum(axis=1) for record in records.astype(np.float64)]
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


def memory(rows: int, candidates: np.ndarray) -> int:
    """Enough for that many rows at a time."""
    return rows * ENTRY_BYTES * sum(candidates.shape)


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
    found = nearest(records, candidates, count=count)
    assert found.tolist() == brute_force(records, candidates, count).tolist()


@pytest.mark.parametrize("elements", [WIDE, COARSE], ids=["any floats", "many ties"])
@given(data=st.data())
def test_the_answer_is_that_of_brute_force_for_any_floats(elements, data):
    records = data.draw(hnp.arrays(np.float64, (5, 3), elements=elements))
    candidates = data.draw(hnp.arrays(np.float64, (9, 3), elements=elements))
    candidates[data.draw(st.integers(0, 8))] = 0.5
    count = data.draw(st.integers(1, 4))
    assert np.array_equal(nearest(records, candidates, count=count), brute_force(records, candidates, count))


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_answer_is_that_of_brute_force_for_clusters_of_any_size_tightness_and_place(data, seed):
    spread, scale, place = (10.0 ** data.draw(st.integers(*ends)) for ends in ((-8, 1), (-15, 15), (-3, 5)))
    pair = draw_clusters(seed, 60, data.draw(st.integers(130, 400)), 24, data.draw(st.integers(1, 9)), spread)
    records, candidates = (((each + place) * scale).astype(np.float32) for each in pair)
    count = data.draw(st.integers(1, 5))
    assert np.array_equal(nearest(records, candidates, count=count), brute_force(records, candidates, count))


@pytest.mark.parametrize("case", CASES)
def test_a_vote_depends_on_no_other_record_nor_on_blocks_order_or_threads(case):
    records, candidates = CASES[case]
    whole = nearest(records, candidates)
    order = np.random.default_rng(0).permutation(len(records))
    for rows in (1, 7, 100):
        found = nearest(records[order], candidates, memory_bytes=memory(rows, candidates))
        assert np.array_equal(found, whole[order])
    assert nearest(records[:1], candidates).tolist() == whole[:1].tolist()
    with threadpool_limits(1):
        assert nearest(records, candidates).tolist() == whole.tolist()


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("one giant", "float64")])
def test_no_score_is_farther_from_the_truth_than_the_bound(case):
    records, candidates = (each.astype(np.float64) for each in CASES[case])
    screen, close = _Screen(candidates), slice(None, 20)
    norms = np.linalg.norm(records[close] - screen._centre, axis=1)
    scores = screen._halves - (records[close] - screen._centre) @ screen._field.T
    wide = [each.astype(np.longdouble) for each in (records[close], candidates, screen._centre)]
    truth = np.square(wide[1] - wide[2]).sum(axis=1) / 2 - (wide[0] - wide[2]) @ (wide[1] - wide[2]).T
    assert np.all(np.abs(scores - truth) <= screen._error(norms)[:, None])


def test_without_a_usable_candidate_there_is_no_answer_and_without_records_no_vote():
    for candidates in (np.empty((0, 2)), np.full((3, 2), np.nan)):
        with pytest.raises(ValueError, match="no candidate has a finite embedding"):
            nearest(np.zeros((4, 2)), candidates)
    assert nearest(np.empty((0, 2)), np.zeros((3, 2))).shape == (0, 1)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_memory_map_gives_the_answers_of_the_array_in_it(tmp_path, kind):
    records, candidates = (each.astype(kind) for each in CASES["random"])
    stored = np.lib.format.open_memmap(tmp_path / "e.npy", "w+", dtype=kind, shape=records.shape)
    for start in range(0, len(records), 90):
        stored[start : start + 90] = records[start : start + 90]
    stored.flush()
    expected = nearest(records, candidates).tolist()
    mapped = np.load(tmp_path / "e.npy", mmap_mode="r")
    assert nearest(mapped, candidates, memory(10, candidates)).tolist() == expected
    assert nearest(mapped, candidates).tolist() == expected


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


def test_votes_in_blocks_are_those_of_all_at_once_and_a_tie_goes_to_the_first(monkeypatch):
    random = np.random.default_rng(0)
    points, candidates = (random.integers(0, 3, (count, 4)).astype(float) for count in (200, 40))
    places = np.flatnonzero(random.random(200) < 0.5)
    whole = nearest_candidates(points[places], candidates)
    monkeypatch.setattr(distances, "BLOCK_ROWS", 7)
    assert np.array_equal(nearest_of_some(points, places, candidates), whole)
    several = nearest_of_some(points, places, candidates, 3)
    assert np.array_equal(several[:, :1], whole)
