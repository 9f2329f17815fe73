"""Sums on a grid: what rounding adds to the sensitivity, how much noise there is, and what is refused."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from pcevolve.errors import ProtocolError
from pcevolve.public.clinics.grid import Grid, share_measurement, to_residues
from pcevolve.public.privacy import Event
from support.clinics import make_clinics

EVENT = Event("gaussian", "3")
DRAWS = 20_000
BINS = 20


def make_grid(owners: int = 3, size: int = 4, sensitivity: float = 2.0, **clinics: int) -> Grid:
    return Grid.of(3 * sensitivity, EVENT, size, make_clinics(owners, **clinics), 60)


@given(
    hnp.arrays(np.float64, 5, elements=st.floats(-100, 100)),
    hnp.arrays(np.float64, 5, elements=st.floats(-1, 1)),
    st.integers(1, 4),
)
def test_noise_is_z_times_what_rounded_sums_of_all_holders_can_move(sums, way, holders):
    norm = float(np.linalg.norm(way))
    other = sums + 2.0 * way / norm if norm > 1e-6 else sums
    grid = make_grid(4, size=5, holders=holders)
    moved = np.linalg.norm((grid.round(other) - grid.round(sums)).astype(np.float64))
    assert moved <= 2.0 / grid.step + math.sqrt(5) + 1e-6
    # Of as many owners as have the unit, each of whose sums moves so far.
    assert 3 * holders * moved <= grid.deviation
    assert grid.deviation < 3 * holders * (2.0 / grid.step + math.sqrt(5)) * (1 + 1e-11)


def test_a_grid_without_the_roots_room_would_be_too_quiet():
    grid = make_grid(size=9)
    assert grid.deviation >= 3 * (2.0 / grid.step + 3)
    # Attained: every entry lies between two steps before and after.
    low = np.full(9, 0.5 * grid.step * (1 + 1e-9))
    assert np.linalg.norm(grid.round(low) - grid.round(np.full(9, 0.5 * grid.step * (1 - 1e-9)))) == 3


@pytest.mark.parametrize(("owners", "colluding"), [(2, 1), (4, 1), (5, 2), (3, 0)])
def test_the_owners_who_do_not_collude_have_the_noise_of_the_release(owners, colluding):
    grid = make_grid(owners, colluding=colluding)
    assert (owners - colluding) * grid.share**2 == pytest.approx(grid.deviation**2, rel=1e-9)
    assert (owners - colluding) * grid.share**2 >= grid.deviation**2


def draw_sums(grid: Grid, owners: int, share: float) -> np.ndarray:
    """Sums of some owners' noise, in standard deviations of the release."""
    drawn = [np.array(share_measurement(share)([0] * DRAWS), dtype=np.float64) for _ in range(owners)]
    return np.sum(drawn, axis=0) / grid.deviation


def find_p_value(sums: np.ndarray) -> float:
    edges = [NormalDist().inv_cdf(place / BINS) for place in range(1, BINS)]
    counts = np.bincount(np.digitize(sums, edges), minlength=BINS)
    return float(stats.chisquare(counts).pvalue)


def test_the_sum_of_the_honest_shares_is_distributed_like_one_owners_noise():
    grid = make_grid(4, colluding=1)
    assert find_p_value(draw_sums(grid, 3, grid.share)) > 1e-6


def test_thirty_percent_less_noise_would_be_noticed():
    grid = make_grid(4, colluding=1)
    assert find_p_value(draw_sums(grid, 3, 0.7 * grid.share)) < 1e-30
    assert find_p_value(draw_sums(grid, 2, grid.share)) < 1e-30  # one more colluder than was said


def test_opendp_agrees_on_the_price_of_a_release_whose_noise_one_owner_adds():
    grid = make_grid(2, colluding=1)
    assert share_measurement(grid.share).map(2.0 / grid.step + 2) <= 1 / (2 * 3**2)
    assert share_measurement(grid.share).map(2.0 / grid.step + 2) > 1 / (2 * 3**2) * (1 - 1e-6)


def test_answers_add_up_to_the_pooled_sum_and_its_noise():
    grid = make_grid()
    sums = [np.array([[1.5, -2.25], [0.0, 3.0]]) * place for place in (1, 2, 3)]
    answers = [to_residues(grid.round(each)) for each in sums]
    assert grid.add_up(answers) == pytest.approx(np.sum(sums, axis=0).ravel(), abs=3 * grid.step)
    noisy = grid.add_up([to_residues(grid.add_noise(grid.round(each))) for each in sums])
    assert (
        0
        < np.abs(noisy - np.sum(sums, axis=0).ravel()).max()
        < 8 * math.sqrt(1.5) * grid.deviation * grid.step
    )


def test_nonsense_is_no_sum():
    grid = make_grid()
    nonsense = np.random.default_rng(1).integers(0, 2**64, 4, dtype=np.uint64)
    with pytest.raises(ProtocolError, match="cannot be the sum"):
        grid.add_up([nonsense, np.zeros(4, dtype=np.uint64)])
    with pytest.raises(ProtocolError, match="differ in length"):
        grid.add_up([np.zeros(4, dtype=np.uint64), np.zeros(5, dtype=np.uint64)])


def test_what_does_not_fit_is_refused_and_never_wraps_round():
    grid = make_grid()
    for odd in (1e30, math.nan, math.inf):
        with pytest.raises(ProtocolError, match="does not fit"):
            grid.round(np.array([odd]))
    with pytest.raises(ProtocolError, match="do not fit into a sum"):
        Grid.of(6.0, EVENT, 4, make_clinics(3), 10**10)


@pytest.mark.parametrize("coarser", [2, 2**11])
def test_a_step_so_coarse_that_noise_is_not_normal_any_more_is_refused(coarser):
    """At 1024 steps delta would be 7 ten-millionths of itself more than is accounted."""
    asked, step = (6.0, EVENT, 4, make_clinics(2, colluding=0), 60), 2.0**-20
    assert 2**22 < Grid.of(*asked, step).share < 2**23
    with pytest.raises(ProtocolError, match="the noise is too small"):
        Grid.of(*asked, step * coarser)


def test_noise_of_few_steps_is_refused_for_its_sum_would_cost_more_than_is_said():
    quiet = Event("gaussian", "1/100000000")
    with pytest.raises(ProtocolError, match="the noise is too small"):
        Grid.of(2.0 / 10**8, quiet, 4, make_clinics(3), 60)
