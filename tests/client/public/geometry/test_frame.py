"""A public frame, of images and candidates together, and numbers on record without a digit to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.geometry.frame import (
    STEP,
    Frame,
    FrameDoubt,
    _principal,
    is_rounded_to,
    power_below,
    round_to,
    round_to_noise_scale,
    rounding_step,
)
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.sums import class_sums

WIDTH, KNOWN = 40, 24
EVENTS = (Event("gaussian", "2"), Event("gaussian", "1"))


def public(seed: int = 1) -> PublicFrame:
    """Public images that differ along the first axes of the space alone."""
    variances = np.geomspace(8.0, 2.0, KNOWN)
    centre = np.random.default_rng(seed).normal(size=WIDTH).round(3)
    return PublicFrame("0" * 64, centre, np.eye(WIDTH, KNOWN), variances, np.sqrt(variances.cumsum()))


def candidates(axis: int = WIDTH - 1, size: float = 1.0, seed: int = 2) -> np.ndarray:
    """Candidates that differ along one axis most."""
    random = np.random.default_rng(seed)
    return np.asarray(
        size * (random.normal(size=(90, WIDTH)) * 0.05 + random.normal(size=(90, 1)) * np.eye(WIDTH)[axis])
    )


def measure_seen(frame: Frame, axis: int) -> float:
    """How much of one direction of the space the frame's axes span, 0..1."""
    return float(np.square(frame.axes[axis]).sum())


def test_it_sees_a_direction_in_which_candidates_alone_differ():
    assert measure_seen(Frame.public(public()), WIDTH - 1) == 0
    assert measure_seen(Frame.join(public(), candidates()), WIDTH - 1) > 0.99


def test_it_keeps_the_directions_in_which_public_images_differ_most():
    frame = Frame.join(public(), candidates())
    assert all(measure_seen(frame, axis) > 0.98 for axis in range(16 - 3))


def test_candidates_count_by_their_share_however_spread_they_are():
    near, far = (Frame.join(public(), candidates(size=size)) for size in (0.01, 100.0))
    assert np.abs(near.axes - far.axes).max() <= 2**-9


def test_its_variances_are_those_of_public_images_and_of_candidates_by_their_shares():
    rows = candidates(size=9.0)
    spread = 2 / 3 * public().variances.sum() + 1 / 3 * rows.var(axis=0).sum()
    assert Frame.join(public(), rows, most=WIDTH).variances.sum() == pytest.approx(spread, rel=0.02)


@pytest.mark.parametrize(
    "rows", [np.full((5, WIDTH), np.nan), np.ones((5, WIDTH)), np.ones((1, WIDTH)), np.empty((0, WIDTH))]
)
def test_without_candidates_that_differ_it_is_the_public_one(rows: np.ndarray):
    frame, alone = Frame.join(public(), rows), Frame.public(public())
    assert np.array_equal(frame.axes, alone.axes)
    assert np.array_equal(frame.centre, alone.centre)
    assert frame.radius == alone.radius


def scene(known: PublicFrame | None, frame: Frame | None = None) -> SelectionInput:
    pools = (candidates(axis=WIDTH - 1), candidates(axis=WIDTH - 2, seed=3))
    return SelectionInput(("cut", "good"), pools, 4, 10, 1, 0, 7, "replace-one", 0.0, frame, known)


def test_on_record_it_is_the_joined_frame():
    asked = scene(public())
    rows = np.concatenate(asked.pools)
    data = PrivateEmbeddings(rows, np.repeat([0, 1], 90), np.arange(len(rows)))
    measured = dict(Means().measure(data, asked, EVENTS, SeededNoise(1)))
    assert Means().could_measure(measured, asked, EVENTS)
    for other in (scene(None), scene(public(seed=5)), scene(None, Frame.public(public()))):
        assert not Means().could_measure(measured, other, EVENTS)


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [1, 5])
def test_a_number_may_be_off_by_one_step_only_where_it_lies_in_the_middle_between_two(size: float, seed: int):
    frame = Frame.join(public(seed), candidates(size=size))
    doubt = frame.doubt
    assert doubt is not None
    free = 0
    for name, step, reach in (("centre", frame.step, doubt.reach), ("axes", 2.0**-9, doubt.reaches)):
        exact, ours = getattr(doubt, name), getattr(frame, name)
        assert np.abs(exact - ours).max() <= step / 2
        for place in np.ndindex(exact.shape):
            for off in (1, -1, 2, -2, 0.5, 0.25):
                made = {"centre": frame.centre.copy(), "axes": frame.axes.copy()}
                made[name][place] += off * step
                near = (
                    abs(made[name][place] - exact[place])
                    <= step / 2 + np.broadcast_to(reach, exact.shape)[place]
                )
                assert frame.resembles(**made) == (near and abs(off) == 1), (name, place, off)
                free += near and abs(off) == 1
    assert free < 0.03 * (frame.centre.size + frame.axes.size)


def test_between_axes_of_one_length_no_machine_has_to_agree():
    """Candidates that differ along two axes alike; another machine's embeddings, off by a millionth, turn both."""
    random = np.random.default_rng(2)
    square = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    rows = np.pad(np.tile(square, (10, 1)), ((0, 0), (0, 6))) + 2
    made, other = (Frame.of(rows * (1 + 1e-6 * random.normal(size=rows.shape))) for _ in "ab")
    assert not made.equals(other.centre, other.axes)
    assert made.doubt.reaches[:2].min() > 2.0**-9


def test_its_form_is_that_of_every_frame():
    frame = Frame.join(public(), candidates())
    assert frame.axes.shape == (WIDTH, 16)
    assert np.abs(frame.axes.T @ frame.axes - np.eye(16)).max() < 0.05
    assert is_rounded_to(frame.axes, 2**-9)
    assert is_rounded_to(frame.centre, 2**-9 / 2**10)
    assert (frame.variances > 0).all()
    assert np.all(np.diff(frame.variances) <= 1e-9 + 0.01 * frame.variances[:-1])


def test_centre_and_radius_lie_between_the_two():
    known, rows = public(), candidates() + 5.0
    frame = Frame.join(known, rows)
    between = (1 - 1 / 3) * known.centre + 1 / 3 * rows.mean(axis=0)
    assert frame.centre == pytest.approx(between, abs=0.01)
    own = np.median(np.linalg.norm((rows - frame.centre) @ frame.axes, axis=1))
    expected = (1 - 1 / 3) * known.radii[16 - 1] + 1 / 3 * own
    assert frame.radius == pytest.approx(expected)


def test_one_thread_computes_it_so_that_no_thread_spins_while_another_waits(monkeypatch: pytest.MonkeyPatch):
    threads = []
    plain = np.linalg.svd

    def decompose(*given: Any, **named: Any) -> Any:
        threads.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return plain(*given, **named)

    monkeypatch.setattr(np.linalg, "svd", decompose)
    rows = np.random.default_rng(0).random((40, 8))
    with threadpool_limits(2):
        Frame.of(rows)
    assert set(threads) == {1}


POSITIVE = st.floats(1e-12, 1e12)
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20).map(np.array)


@given(POSITIVE)
def test_a_step_is_a_power_of_two_at_most_twice_too_small(value: float):
    step = power_below(value)
    assert step <= value < 2 * step
    assert rounding_step(1.0) == rounding_step(1.9) == 1 / 1024
    assert np.frexp(step)[0] == 0.5


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_what_was_rounded_is_coarse_and_nearly_what_it_was(numbers, deviation: float):
    rounded = round_to_noise_scale(numbers, deviation)
    assert is_rounded_to(rounded, rounding_step(deviation))
    assert np.abs(rounded - numbers).max() <= deviation / 1000


@given(NUMBERS, st.integers(1, 2**20))
def test_a_digit_more_is_seen(numbers, places: int):
    step = 2.0**-8
    hidden = round_to(numbers, step)
    hidden[0] += step * (places / 2**21)
    assert not is_rounded_to(hidden, step)
    assert not is_rounded_to(np.array([-0.0]), step)


def spread_out() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 64)) * np.linspace(8.0, 0.5, 64)


def test_another_machine_has_the_same_frame():
    made = Frame.of(spread_out())
    other = Frame.of(spread_out() * (1 + 1e-6 * np.random.default_rng(1).normal(size=(300, 64))))
    assert made.resembles(other.centre, other.axes)
    assert made.resembles(made.centre, made.axes)


@pytest.mark.parametrize("part", ["centre", "axes"])
def test_a_frame_with_a_digit_more_or_two_steps_off_is_seen(part: str):
    made = Frame.of(spread_out())
    for gap in (STEP / 1000, 3 * STEP * (power_below(made.radius) if part == "centre" else 1)):
        forged = {"centre": made.centre.copy(), "axes": made.axes.copy()}
        forged[part].flat[5] += gap
        assert not made.resembles(**forged)


def test_axes_are_found_however_small_all_differences_are():
    offsets = np.random.default_rng(0).normal(size=(20, 5)) * 1e-6
    axes, _ = _principal(offsets, 3)
    assert np.linalg.norm(axes, axis=0) == pytest.approx([1, 1, 1])


def test_where_one_driver_of_lapack_gives_up_another_finds_the_same_frame(monkeypatch: pytest.MonkeyPatch):
    candidates = np.random.default_rng(3).normal(size=(60, 24)) * np.linspace(4, 1, 24)
    usual = Frame.of(candidates)

    def give_up(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", give_up)
    other = Frame.of(candidates)
    assert usual.equals(other.centre, other.axes)


def test_noise_that_is_kept_of_a_coordinate_is_a_step_of_the_radius_where_candidates_do_not_differ():
    frame = Frame(np.zeros(2), np.eye(2), 4.0, np.array([0.0, 3.0]), 2**-9)
    assert frame.kept_noise(1.0).tolist() == [4 / 512, 0.75]


def two_parts(seed: int) -> tuple[PublicFrame, np.ndarray]:
    """A frame of two parts, of 24 and 40 numbers, and candidates that differ in both."""
    random = np.random.default_rng(seed)
    parts = []
    for width, size in ((24, 1.0), (40, 2.0)):
        own = Frame.of(size * random.normal(size=(300, width)) * np.linspace(3, 1, width), 20)
        norms = np.sqrt((own.points(random.normal(size=(50, width))) ** 2).cumsum(axis=1))
        parts.append(PublicFrame("0" * 64, own.centre, own.axes, own.variances, np.median(norms, axis=0)))
    return PublicFrame.join("1" * 64, tuple(parts)), random.normal(size=(60, 64)) * 2


def test_the_frame_of_parts_on_record_is_believed_and_a_number_between_the_parts_is_not():
    public, candidates = two_parts(0)
    frame = Frame.join(public, candidates)
    assert frame.axes.shape == (64, 32)
    assert not frame.axes[:24, 16:].any()
    assert not frame.axes[24:, :16].any()
    again = Frame.join(public, candidates, recorded=(frame.centre, frame.axes))
    assert again.equals(frame.centre, frame.axes)
    assert again.radius == frame.radius
    assert frame.resembles(frame.centre, frame.axes)
    said = frame.axes.copy()
    said[30, 2] = STEP
    assert not frame.resembles(frame.centre, said)
    other = Frame.join(public, candidates + 1e-9)
    assert frame.resembles(other.centre, other.axes)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("seed", range(4))
def test_one_unit_moves_the_joined_sums_by_its_clip_radius_and_no_further(relation: str, seed: int):
    """All pairs of neighbours out of points near and far, in both parts, in one, and in none."""
    public, candidates = two_parts(seed)
    frame = Frame.join(public, candidates)
    random = np.random.default_rng([seed, 3])
    far = 1e3 * np.eye(64)[[2, 40]]
    places = np.concatenate([far, -far, far[:1] + far[1:], random.normal(size=(4, 64)), frame.centre[None]])
    bound = frame.radius * (2 if relation == "replace-one" else 1)
    moved = []
    for mine in range(len(places)):
        others = range(len(places)) if relation == "replace-one" else [None]
        for theirs in others:
            for target in (0, 1):
                first, second = sums_with(frame, places, mine, 0), sums_with(frame, places, theirs, target)
                moved.append(np.linalg.norm(first - second))
    assert max(moved) <= bound
    assert max(moved) > 0.99 * bound, "two far ones lie at two ends of the ball"
    # A clip of each part by itself, at the joined radius, would let both move at once.
    parts = [frame.points(places)[4][:16], frame.points(places)[4][16:]]
    apart = [part * min(1, frame.radius / np.linalg.norm(part)) for part in parts]
    assert np.linalg.norm(np.concatenate(apart)) > 1.3 * frame.radius


def sums_with(frame: Frame, places: np.ndarray, place: int | None, target: int) -> np.ndarray:
    """Sums of two classes that have one unit each in common, and one more, at a place, or none."""
    rows = [places[-1], places[-1], *([] if place is None else [places[place]])]
    targets = [0, 1, *([] if place is None else [target])]
    private = PrivateEmbeddings(np.array(rows), np.array(targets), np.arange(len(rows)))
    return class_sums(frame.points(private.embeddings), private, 2, frame.radius)


def test_a_frame_has_sixteen_axes_and_steps_of_a_512th():
    rows = np.random.default_rng(5).normal(size=(200, 40))
    assert Frame.of(rows).axes.shape == (40, 16)
    assert Frame.of(np.full((3, 40), np.nan)).step == 1 / 512
    line = Frame.of(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0], [10.0, 1.0]]), most=1)
    assert (line.radius, line.step) == (3.0, 2 / 512)  # the power of two below the radius
    assert Frame.public(public()).axes.shape == (WIDTH, 16)


def test_an_axis_may_be_off_by_a_quarter_of_the_machine_s_error_over_its_gap():
    rows, weights = np.tile([3.0, 4.0, 0.0, 0.0], (9, 1)), np.array([10.0, 6.0, 5.0, 0.0])
    doubt = FrameDoubt.of(rows, 2.0, np.zeros(4), np.eye(4, 2), weights)
    assert doubt.reach == pytest.approx(4e-6 * 5, rel=1e-12)
    assert doubt.reaches == pytest.approx(np.array([1 / 4, 1.0]) * 2 * 0.25 * 2e-5 * (3 + 2) / 4, rel=1e-12)
